"""Failover's store: groups and their leases in a SQLite file."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.adapters.sql.sqlite import Database
    from holdfast.failover.ports import GroupStore


def group_store(database: "Database") -> "GroupStore":
    from holdfast.adapters.sql.sqlite.groups import SqliteGroupStore

    return SqliteGroupStore(database)
