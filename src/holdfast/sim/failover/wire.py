"""The network and the database between agents and servers: partitions, outages, clocks that step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from holdfast.failover.agent import words
from holdfast.failover.group import Group
from holdfast.failover.ports import Beat, Grant, GroupStore, Look, StoredRequest, Term
from holdfast.kernel import Busy, Conflict, Logged, Unknown, Versioned, Write
from holdfast.sim.failover.host import Host
from holdfast.sim.failover.server import SUBJECT, Server
from holdfast.sim.gate import Kind
from holdfast.sim.world import Process, World

T = TypeVar("T")
Judged = Callable[[Versioned[Group], Versioned[Group], Write[Group]], None]


@dataclass
class Weather:
    """What is wrong with the world at the moment."""

    away_until_s: float = 0.0
    """The database answers no call."""
    step_s: float = 0.0
    """How far the database's clock is from the true time."""
    cut_off: dict[str, float] = field(default_factory=dict)
    """Instances that reach no server, and until when."""


class DatabaseClock:
    """The true time, and a step that may change."""

    def __init__(self, world: World, weather: Weather) -> None:
        self._world, self._weather = world, weather

    def now_s(self) -> float:
        return self._world.now + self._weather.step_s


class GatedGroups:
    """A GroupStore behind a process's gate, while the database answers; commits are shown to a judge."""

    def __init__(self, store: GroupStore, process: Process, weather: Weather, judged: Judged) -> None:
        self._store, self._process, self._weather, self._judged = store, process, weather, judged

    def _call(self, name: str, kind: Kind, run: Callable[[], T]) -> T:
        def answered() -> T:
            if self._process.now_s() < self._weather.away_until_s:
                raise Busy("the database is away")
            return run()

        return self._process.call(name, kind, answered)

    def read(self, subject: str) -> Versioned[Group]:
        return self._call("read", Kind.READ, lambda: self._store.read(subject))

    def commit(
        self,
        subject: str,
        found: Versioned[Group],
        write: Write[Group],
        commit_id: str,
        request: StoredRequest | None = None,
    ) -> Versioned[Group]:
        def run() -> Versioned[Group]:
            before = self._store.read(subject)
            after = self._store.commit(subject, found, write, commit_id, request)
            if after.version > before.version:
                self._judged(before, after, write)
            return after

        return self._call(f"commit {write.events[0].kind}", Kind.CHANGE, run)

    def commit_id_at(self, subject: str, version: int) -> str | None:
        return self._call("read commit id", Kind.READ, lambda: self._store.commit_id_at(subject, version))

    def events(self, subject: str, after: int = 0) -> Sequence[Logged]:
        return self._store.events(subject, after)

    def request(self, client_id: str, request_id: str) -> StoredRequest | None:
        return self._store.request(client_id, request_id)

    def renew(self, beats: Sequence[Beat], term: Term) -> Sequence[Grant]:
        return self._call("renew", Kind.CHANGE, lambda: self._store.renew(beats, term))

    def clock_s(self) -> float:
        return self._call("clock", Kind.READ, self._store.clock_s)

    def newest_heartbeat_s(self) -> float:
        return self._call("newest heartbeat", Kind.READ, self._store.newest_heartbeat_s)

    def look(self, subject: str) -> Look:
        return self._call("look", Kind.READ, lambda: self._store.look(subject))

    def take_session(self, subject: str, instance_id: str, session: str, boot_id: str) -> float:
        take = partial(self._store.take_session, subject, instance_id, session, boot_id)
        return self._call("take session", Kind.CHANGE, take)

    def due(self, limit: int) -> Sequence[str]:
        return self._call("due", Kind.READ, lambda: self._store.due(limit))

    def set_due(self, subject: str, version: int, after_s: float) -> None:
        self._store.set_due(subject, version, after_s)

    def claim(self, subject: str, driver: str, for_s: float) -> bool:
        return self._store.claim(subject, driver, for_s)

    def changed(self, after_n: int) -> Sequence[tuple[str, int]]:
        return self._store.changed(after_n)


@dataclass
class SimWire:
    """Agents to servers: heartbeats are gathered into batches, answers come late or not at all."""

    world: World
    servers: list[Server]
    weather: Weather
    open_store: Callable[[Process], GatedGroups]
    terminated: Callable[[str], bool]
    late_s: tuple[float, ...] = (0.5, 5.0, 60.0)
    timeout_s: float = 120.0
    batch_s: float = 20.0
    phase: Callable[[], str] = lambda: ""

    def __post_init__(self) -> None:
        self._inboxes: list[list[tuple[Host, words.Heartbeat, float]]] = [[] for _ in self.servers]

    def register(self, host: Host) -> None:
        def ask(server: Server, process: Process) -> words.Heard:
            store = self.open_store(process)
            return server.register(store, host, self.terminated(host.instance_id))

        self._send(host, "register", ask, words.NotRegistered(self.timeout_s))

    def notice(self, host: Host, notice: words.Notice) -> None:
        def ask(server: Server, process: Process) -> words.Heard:
            left_s = max(0.0, host.deadline_s - self.world.now)
            return server.notice(self.open_store(process), host, notice, left_s)

        self._send(host, "notice", ask, words.NoticeLost(notice.key))

    def heartbeat(self, host: Host, beat: words.Heartbeat) -> None:
        sent_s = host.now_s()
        if self._is_lost(host):
            self.world.after(self.timeout_s, host.hear, words.NotAnswered())
            return
        n = self.world.random.randrange(len(self._inboxes))
        inbox = self._inboxes[n]
        inbox.append((host, beat, sent_s))
        if len(inbox) == 1:
            self.world.after(self.batch_s, self._flush, n)

    def _flush(self, n: int) -> None:
        self.world.spawn("batch", partial(self._store_batch, n), phase=self.phase)

    def _store_batch(self, n: int, process: Process) -> None:
        batch, self._inboxes[n] = self._inboxes[n], []
        server, store = self.servers[n], self.open_store(process)
        heard: list[words.Heard | None] = [None] * len(batch)
        try:
            if not server.is_behind(store):
                grants = server.renew(store, [(host, beat) for host, beat, _ in batch])
                found = store.read(SUBJECT)
                heard = [
                    server.answer(found, grant, sent_s)
                    for (_, _, sent_s), grant in zip(batch, grants, strict=True)
                ]
        finally:
            for (host, _, _), each in zip(batch, heard, strict=True):
                self._deliver(host, each or words.NotAnswered(), words.NotAnswered())

    def _send(
        self, host: Host, name: str, ask: Callable[[Server, Process], words.Heard], lost: words.Heard
    ) -> None:
        if self._is_lost(host):
            self.world.after(self.timeout_s, host.hear, lost)
            return
        server = self.world.random.choice(self.servers)

        def work(process: Process) -> None:
            heard = lost
            try:
                heard = ask(server, process)
            except (Busy, Conflict, Unknown):
                pass
            finally:
                self._deliver(host, heard, lost)

        self.world.spawn(f"api-{name}", work, phase=self.phase)

    def _deliver(self, host: Host, heard: words.Heard, lost: words.Heard) -> None:
        answer = lost if self._is_lost(host) else heard
        self.world.after(self.world.random.choice(self.late_s), host.hear, answer)

    def _is_lost(self, host: Host) -> bool:
        return self.weather.cut_off.get(host.instance_id, 0.0) > self.world.now
