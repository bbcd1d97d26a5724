"""The schema: files `0001_what_it_brings.sql` of one dialect, applied in the order of their numbers.

A file that was released is never edited: a change is a new file with the next number.  The first one of
SQLite says IF NOT EXISTS, because it also meets files from before there were numbers; those of MySQL do,
because its schema changes commit one by one, and an interrupted migration is begun again.
"""

from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True, order=True)
class Migration:
    number: int
    name: str
    sql: str


def migrations(dialect: str = "sqlite") -> tuple[Migration, ...]:
    """All that this release knows, in order."""
    found = sorted(
        Migration(int(file.name[:4]), file.name.removesuffix(".sql"), file.read_text())
        for file in files(f"{__package__}.{dialect}.migrations").iterdir()
        if file.name.endswith(".sql")
    )
    assert [each.number for each in found] == list(range(1, len(found) + 1)), "no gap, no number twice"
    return tuple(found)
