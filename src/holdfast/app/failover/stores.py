"""Where groups and tenants are: one database, by its URL."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from holdfast.adapters.sql.groups import SqlGroupStore, SqlTenants
    from holdfast.failover.settings import Settings


@dataclass(frozen=True)
class Stores:
    """As a context, they are closed at its end."""

    groups: "SqlGroupStore"
    tenants: "SqlTenants"
    where: str
    """For people, without a password."""
    close: Callable[[], None]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_stores(settings: "Settings") -> Stores:
    """Connects, and brings the schema up to date.

    Raises Invalid for a URL, a schema or a durability that cannot be used, Busy if no answer comes.
    """
    from holdfast.adapters.sql.groups import SqlGroupStore, SqlTenants
    from holdfast.adapters.sql.opening import open_database

    database = open_database(settings.database, accept_weak_durability=settings.accept_weak_durability)
    return Stores(SqlGroupStore(database), SqlTenants(database), database.where, database.close)
