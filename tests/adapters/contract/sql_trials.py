"""Groups in a database, brought to trial: the same on SQLite, MariaDB and PostgreSQL."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from holdfast.adapters.sql.connection import Dialect, Trouble
from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups import SqlGroupStore
from holdfast.failover.group import Group
from holdfast.failover.ports import Term
from holdfast.kernel import Repository
from tests.adapters.contract import group_samples
from tests.adapters.contract.trials import draw, side_by_side

OF_INSTANCES = ("instance_status", "is_primary")
PLANTABLE = {"body"}
"""What the schema of a server lets pass; the rest is refused by its types and checks."""


@dataclass
class SqlGroupTrial:
    """`make` gives a dialect of the same database each time."""

    make: Callable[[], Dialect]
    agent_id: str = "agent-1"
    guarded_attributes: tuple[str, Any] | None = None
    new_id: ClassVar[Callable[[], str]] = staticmethod(draw)
    store: Callable[[SqlDatabase], Repository[Group]] = SqlGroupStore
    opened: list[SqlDatabase] = field(default_factory=list)

    def __post_init__(self) -> None:
        client_id = f"client-{draw()[:8]}"
        self.subject = f"{client_id}/{self.agent_id}"
        self.samples = group_samples.groups(client_id, self.agent_id)
        self.dialect = self.make()

    @property
    def absurdities(self) -> Sequence[tuple[str, Any]]:
        if self.dialect.name == "sqlite":
            return group_samples.GROUP_ABSURDITIES
        return [
            (name, value)
            for name, value in group_samples.GROUP_ABSURDITIES
            if name in PLANTABLE and "{" in value
        ]

    def open(self) -> Repository[Group]:
        self.opened.append(SqlDatabase(self.make()))
        return self.store(self.opened[-1])

    def race(self, calls: Sequence[Callable[[], Any]]) -> Sequence[Any]:
        return side_by_side(calls)

    def sql(self, sql: str, **values: Any) -> Sequence[Sequence[Any]]:
        session = self.dialect.connect()
        try:
            if self.dialect.name == "sqlite":
                session.run("PRAGMA ignore_check_constraints = ON")
            return session.run(self.dialect.placeholders(sql), values).rows
        finally:
            session.close()

    def plant(self, attribute: str, value: Any) -> None:
        if attribute in OF_INSTANCES:
            sql = f"UPDATE instances SET {attribute} = :value WHERE agent_id = :id AND id = 'i-1'"
        else:
            if attribute not in self.stored():
                self.sql(f"ALTER TABLE agents ADD COLUMN {attribute} VARCHAR(20)")
            sql = f"UPDATE agents SET {attribute} = :value WHERE id = :id"
        self.sql(sql, value=value, id=self.subject)

    def stored(self) -> Mapping[str, Any]:
        names = ["version", "epoch", "body"]
        try:
            self.sql("SELECT writtenByTomorrow FROM agents")
            names.append("writtenByTomorrow")
        except Trouble:
            pass  # another trial has not planted it
        (agent,) = self.sql(f"SELECT {', '.join(names)} FROM agents WHERE id = :id", id=self.subject)
        (instance,) = self.sql(
            f"SELECT {', '.join(OF_INSTANCES)} FROM instances WHERE agent_id = :id AND id = 'i-1'",
            id=self.subject,
        )
        return dict(zip((*names, *OF_INSTANCES), (*agent, *instance), strict=True))

    def plant_event(self, version: int) -> None:
        self.sql(
            "INSERT INTO system_events (agent_id, version, n, commit_id, at_s, event_type, severity)"
            " VALUES (:id, :version, 0, 'another', 0, 'planted', 'info')",
            id=self.subject,
            version=version,
        )

    def lose_record(self) -> None:
        self.sql("DELETE FROM agents WHERE id = :id", id=self.subject)

    def unversion(self) -> None:
        self.sql("UPDATE agents SET version = NULL, commit_id = '' WHERE id = :id", id=self.subject)
        self.sql("DELETE FROM system_events WHERE agent_id = :id", id=self.subject)

    def forget_tokens(self) -> None:
        """It knows no tokens: it always looks for the commit id."""


@dataclass
class SqlStoreTrial:
    """For the promises of a GroupStore: `make` gives a dialect of the same database each time."""

    make: Callable[[], Dialect]
    wait: Callable[[float], None]
    term: Term = field(default_factory=lambda: Term(10.0))
    opened: list[SqlDatabase] = field(default_factory=list)

    def open(self) -> SqlGroupStore:
        self.opened.append(SqlDatabase(self.make()))
        return SqlGroupStore(self.opened[-1])

    def new_id(self) -> str:
        return draw()

    def close(self) -> None:
        for database in self.opened:
            database.close()
