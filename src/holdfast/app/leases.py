"""The leases' store: the agreed cap of a stream, and a row a worker, in a SQLite file."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.adapters.sql.sqlite import Database
    from holdfast.leases.ports import CapStore


def cap_store(database: "Database", stream_name: str) -> "CapStore":
    from holdfast.adapters.sql.sqlite.caps import SqliteCapStore

    return SqliteCapStore(database, stream_name)
