"""Failover's stores: groups, leases and tenants in the database that a URL names."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.adapters.sql.database import SqlDatabase
    from holdfast.failover.ports import GroupStore
    from holdfast.failover.tenants import Tenants


def open_database(url: str, *, accept_weak_durability: bool = False) -> "SqlDatabase":
    """See `holdfast.adapters.sql.opening`."""
    from holdfast.adapters.sql.opening import open_database

    return open_database(url, accept_weak_durability=accept_weak_durability)


def group_store(database: "SqlDatabase") -> "GroupStore":
    from holdfast.adapters.sql.groups import SqlGroupStore

    return SqlGroupStore(database)


def tenants(database: "SqlDatabase") -> "Tenants":
    from holdfast.adapters.sql.groups import SqlTenants

    return SqlTenants(database)
