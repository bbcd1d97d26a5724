"""The SQLite file that settings name, for every part that has one."""

from typing import TYPE_CHECKING

from holdfast.kernel import Busy, Invalid

if TYPE_CHECKING:
    from holdfast.adapters.sql.sqlite import Database


def open_file(path: str) -> "Database":
    """Raises Invalid for a path at which no file can be, with the fix; else what `Database` raises."""
    from holdfast.adapters.sql.sqlite import Database

    try:
        return Database(path)
    except Busy as error:
        if "unable to open" not in str(error):
            raise  # another process has it; that passes
        fix = "name a file in a folder that is there and may be written"
        raise Invalid(f"database = {path!r}: {error.__cause__}; {fix}") from error
