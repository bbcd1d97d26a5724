"""Groups on a real database for tests of locks: a store, its sessions, and others that stand in its way."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups import SqlGroupStore
from holdfast.failover.group import Group, Member
from holdfast.failover.ports import Beat, Report, Term
from holdfast.failover.roles import Status
from holdfast.kernel import Event, Versioned, Write
from tests.adapters.contract.trials import draw
from tests.real.product.databases.servers import Server, Session

TERM = Term(10.0)


@dataclass
class Groups:
    """Some groups of one client, each with a primary `i-<agent>` that has its session."""

    server: Server
    url: str
    agents: Sequence[str] = ("a",)
    client_id: str = field(default_factory=lambda: f"client-{draw()[:8]}")

    def __post_init__(self) -> None:
        self.database = SqlDatabase(self.server.dialect(self.url))
        self.store = SqlGroupStore(self.database)
        for agent_id in self.agents:
            member = Member(instance_id=f"i-{agent_id}", status=Status.PRIMARY)
            self.put(Group(client_id=self.client_id, agent_id=agent_id, epoch=1, members=(member,)))
            self.store.take_session(self.subject(agent_id), member.instance_id, "s", "boot")

    def subject(self, agent_id: str = "a") -> str:
        return f"{self.client_id}/{agent_id}"

    def put(self, group: Group) -> Versioned[Group]:
        found = self.store.read(group.subject)
        return self.store.commit(group.subject, found, Write(group, (Event("changed", 1.0),)), draw())

    def beats(self, epoch: int = 1) -> list[Beat]:
        return [
            Beat(self.client_id, agent_id, f"i-{agent_id}", "s", epoch, Report()) for agent_id in self.agents
        ]

    def lease_s(self, agent_id: str = "a") -> float:
        look = self.store.look(self.subject(agent_id))
        return look.rows[0].lease_until_s - look.now_s

    @contextmanager
    def holding(self, agent_id: str) -> Iterator[Session]:
        """Another session, of a person say, that keeps the row of an instance locked."""
        with self.server.session(self.url) as other:
            other.run("BEGIN")
            row = f"client_id = '{self.client_id}' AND id = 'i-{agent_id}'"
            other.run(f"SELECT 1 FROM instances WHERE {row} FOR UPDATE")
            try:
                yield other
            finally:
                other.run("ROLLBACK")

    def close(self) -> None:
        self.database.close()


class Beside:
    """A call in a thread of its own, and what came of it."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.answer: Any = None
        self.error: Exception | None = None

        def run() -> None:
            try:
                self.answer = call()
            except Exception as error:
                self.error = error

        self._thread = threading.Thread(target=run)
        self._thread.start()

    def ended_within(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def end(self) -> Any:
        self._thread.join(60)
        assert not self._thread.is_alive()
        if self.error is not None:
            raise self.error
        return self.answer
