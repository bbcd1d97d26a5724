"""Workers beat, die, pause, come and go; the stream is resharded, with shards in between; looks are old.

The workers are the shipped ones, on slow clocks: what counts is how times stand to each other.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from holdfast.kernel import Busy, HoldfastError, Logged, Unknown, Versioned, Write
from holdfast.leases.cap import Cap, View, coordinator
from holdfast.leases.events import LeaseEvent
from holdfast.leases.ports import CapStore
from holdfast.leases.settings import Settings
from holdfast.leases.worker.counting import WorkerPorts
from holdfast.leases.worker.live import LiveWorker, Superseded
from holdfast.leases.worker.start import StartWorker
from holdfast.sim.scenarios.scenario import Watched
from holdfast.sim.stream import GatedCaps, GatedCounts, SimStream
from holdfast.sim.world import FOREVER_S, Process, World

APP: Final = "my-app"
SUBJECT: Final = coordinator(APP)
SETTINGS: Final = Settings(
    app_name=APP,
    stream_name="stream",
    heartbeat_s=600.0,
    member_ttl_s=3_000.0,
    join_grace_s=3_600.0,
    count_s=1_200.0,
    fewer_shards_s=1_200.0,
)
QUIET_AFTER_S: Final = 4 * 3_600.0
"""Once nothing happens any more, all is agreed by then, and nothing is committed after it."""


class Agreeing:
    name = "agreeing on the cap"

    def __init__(
        self, world: World, store: CapStore, worker: Callable[..., LiveWorker] | None = None
    ) -> None:
        self.world, self.caps = world, store
        self.store = Watched(store, self._judge)
        self.worker = worker or LiveWorker
        self.accidents: list[str] = []
        self.actions = 0
        self.stream = SimStream(30, 30, expected=3)
        self.workers: dict[str, int] = {}
        """The cap in force at each living worker."""
        self._hired = 0
        self._calm = False
        self._quiet_version = 0

    def begin(self) -> None:
        for _ in range(3):
            self._hire()
        self.world.every(4 * 3_600, self._reshard)
        self.world.every(5 * 3_600, self._come_or_go)
        self.world.every(7 * 3_600, self._roll_out)
        self.world.every(9 * 3_600, self._start_only)

    def calm(self) -> None:
        self._calm = True
        self.stream.before = self.stream.shards
        self.stream.expected, self.stream.known = max(1, len(self.workers)), True
        self.world.after(QUIET_AFTER_S, self._note_quiet)

    def phase(self) -> str:
        agreed = self.store.read(SUBJECT).value
        if agreed.view != self.truth():
            return "agreeing: outdated"
        behind = any(cap != agreed.max_leases_per_worker for cap in self.workers.values())
        return "agreeing: applying" if behind else "agreeing: agreed"

    def events(self, after: int) -> Sequence[Logged]:
        return self.store.events(SUBJECT, after)

    def next_step(self) -> str:
        """What the agreement waits for."""
        agreed, truth = self.store.read(SUBJECT).value, self.truth()
        if agreed.view == truth:
            return "nothing to do"
        before = agreed.view.counts if agreed.view else "nothing"
        return f"{before} is agreed, {truth.counts} is true: a worker sees it at its next beat"

    def unhealed(self) -> Sequence[str]:
        found, truth = self.store.read(SUBJECT), self.truth()
        if found.value.view != truth:
            return [f"L-K1: {found.value.view} is agreed, {truth} is true"]
        behind = {w: cap for w, cap in self.workers.items() if cap != truth.max_leases_per_worker}
        if behind:
            return [f"L-K1: {behind} have not applied {truth.max_leases_per_worker}"]
        if bool(found.value.unread) != bool(truth.unread):
            return [f"S-K2: {found.value.unread} shards are said to be unread, {truth.unread} are"]
        noise = found.version - self._quiet_version
        return [f"S-K4: {noise} commits in a quiet world"] if noise else []

    def truth(self) -> View:
        workers = max(1, len(self.workers))
        return View(self.stream.shards, min(workers, self.stream.expected) if self._calm else workers)

    def _note_quiet(self) -> None:
        self._quiet_version = self.store.read(SUBJECT).version

    def _hire(self) -> None:
        self._hired += 1
        worker = f"worker-{self._hired}"
        self.workers[worker] = 0
        self._spawn(worker)

    def _spawn(self, worker: str) -> None:
        if worker in self.workers:
            self.world.spawn(worker, partial(self._live, worker), phase=self.phase, timeout_s=FOREVER_S)

    def _live(self, worker: str, process: Process) -> None:
        """One worker's life: a pulse, a rest, again.  Killed, it is started anew under the same id."""

        def apply(cap: Cap) -> None:
            if worker in self.workers:
                self.workers[worker] = cap.max_leases_per_worker

        try:
            live = self.worker(self._ports(process), self._settings(worker), apply=apply)
            while worker in self.workers:
                try:
                    live.pulse()
                except (Busy, Unknown):
                    process.sleep(SETTINGS.heartbeat_s / 10)
                    continue
                process.sleep(SETTINGS.heartbeat_s * self.world.random.uniform(0.92, 1.0))
            live.leave()
        except Superseded:
            pass  # an older process of this id, which was thought dead
        finally:
            if worker in self.workers:
                self.workers[worker] = 0  # a process that is gone has no cap in force
                self.world.after(self.world.random.uniform(20.0, 900.0), self._spawn, worker)

    def _settings(self, worker: str) -> Settings:
        return replace(SETTINGS, worker_id=worker)

    def _ports(self, process: Process) -> WorkerPorts:
        counts = GatedCounts(self.stream, process)
        return WorkerPorts(
            store=GatedCaps(self.caps, self.store, process, self.stream, process.now_s),
            shards=counts,
            leases=counts,
            expected=counts,
            clock=process,
            mono_s=process.now_s,
            new_id=self.world.new_id,
            random=self.world.random.random,
        )

    def _judge(self, before: Versioned[Cap], after: Versioned[Cap], write: Write[Cap]) -> None:
        if after.version != before.version + 1:
            self.accidents.append(f"S-A7: version {after.version} after {before.version}")
        view = after.value.view
        if view and view.unread and not after.value.unread:
            self.accidents.append(f"S-K2: {view.unread} shards are unread, and no alarm says so")
        told = {str(event.kind) for event in write.events}
        if after.value.unread and not before.value.unread and LeaseEvent.SHARDS_UNREAD not in told:
            self.accidents.append("S-K2: shards are unread, and no event says so")
        if view and view.max_leases_per_worker < before.value.max_leases_per_worker:
            self.accidents += self._overlooked(view)
        self.actions += 1

    def _overlooked(self, view: View) -> list[str]:
        """Living workers that saw more to be needed than a cap that falls, whose vote was there to see.

        DynamoDB's looks miss no row.  Here they may be old, and one that has joined since is not in them.
        """
        recent_s = self.world.now - SETTINGS.member_ttl_s + 2 * SETTINGS.heartbeat_s
        return [
            f"S-K3: {key} lives and needs {row.view.max_leases_per_worker}, not {view.max_leases_per_worker}"
            for key, row in self.caps.rows().own.items()
            if row.beats
            and key in self.workers
            and key in self.stream.shown
            and recent_s < self.stream.written_s.get(key, 0.0) < self.stream.looked_s
            and row.view.max_leases_per_worker > view.max_leases_per_worker
        ]  # fmt: skip

    def _reshard(self) -> None:
        """Kinesis shows shards in between for a while."""
        if self._calm:
            return
        to = self.world.random.choice((30, 60, 120, 400))
        self.stream.before = self.stream.shards
        self.stream.shards += to // 2
        self.world.after(self.world.random.uniform(60, 1_200), self._resharded, to)

    def _resharded(self, to: int) -> None:
        self.stream.before, self.stream.shards = self.stream.shards, to
        if self._calm:
            self.stream.before = to

    def _come_or_go(self) -> None:
        if self._calm:
            return
        if len(self.workers) < 3 or (len(self.workers) < 6 and self.world.random.random() < 0.5):
            self._hire()
        else:
            gone = self.world.random.choice(sorted(self.workers))
            del self.workers[gone]
        self.stream.expected = len(self.workers)

    def _roll_out(self) -> None:
        """Every worker is replaced, and the number that their owner tells flips meanwhile."""
        if self._calm:
            return
        for n, old in enumerate(sorted(self.workers)):
            self.world.after(400.0 * n, self._replace, old)
        self.stream.known = self.world.random.random() < 0.5
        self.stream.expected = max(1, len(self.workers) + self.world.random.choice((-1, 0, 1)))
        self.world.after(400.0 * len(self.workers), self._rolled_out)

    def _replace(self, old: str) -> None:
        if old in self.workers and not self._calm:
            self._hire()
            del self.workers[old]

    def _rolled_out(self) -> None:
        self.stream.expected, self.stream.known = max(1, len(self.workers)), True

    def _start_only(self) -> None:
        """A worker of an older release: it agrees once, and never beats."""
        if not self._calm:
            self.world.spawn("worker-old", self._start, phase=self.phase, timeout_s=FOREVER_S)

    def _start(self, process: Process) -> None:
        with suppress(HoldfastError):  # its start failed; its owner starts it anew some other time
            StartWorker(self._ports(process), self._settings("worker-old")).run()
