"""Brings a file's schema up to date: each migration in a transaction that also records its number."""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from holdfast.adapters.sql.migrations import Migration
from holdfast.kernel import Invalid

if TYPE_CHECKING:
    from holdfast.adapters.sql.sqlite.database import Database

TABLE: Final = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_s REAL NOT NULL
)"""
IS_THERE: Final = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'"
NEWEST: Final = "SELECT coalesce(max(number), 0) FROM schema_migrations"


def schema_number(database: "Database") -> int:
    """The newest migration that the file has; 0 if it has none.  Repeatable: nothing is written."""
    if not database.rows(IS_THERE):
        return 0
    ((number,),) = database.rows(NEWEST)
    return int(number)


def refuse_newer(database: "Database", known: Sequence[Migration]) -> None:
    """Raises Invalid for a file that a newer release has migrated: this one does not know its tables."""
    number, newest = schema_number(database), known[-1].number
    if number > newest:
        raise Invalid(
            f"{database.path}: its schema has number {number}, and this release knows {newest} at "
            "most. Nothing was changed (use the release that migrated it, or name another file in `database`)"
        )


def migrate(database: "Database", known: Sequence[Migration]) -> None:
    """Apply what the file does not have.  Twice is once, and so are two processes at once."""
    for migration in known[schema_number(database) :]:
        with database.transaction() as db:
            db.execute(TABLE)
            if db.execute(NEWEST).fetchone()[0] < migration.number:  # else another process was faster
                for statement in statements(migration.sql):
                    db.execute(statement)
                row = (migration.number, migration.name)
                db.execute("INSERT INTO schema_migrations VALUES (?, ?, now_s())", row)


def statements(script: str) -> Iterator[str]:
    """One after the other: sqlite3's own `executescript` would end the transaction first."""
    begun = ""
    for line in script.splitlines(keepends=True):
        begun += line
        if sqlite3.complete_statement(begun):
            yield begun
            begun = ""
    assert not begun.strip(), f"no semicolon behind the last statement: {begun}"
