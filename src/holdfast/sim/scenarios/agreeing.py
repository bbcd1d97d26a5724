"""Workers come and go, the stream is resharded, and the counts are sometimes old or not to be had."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from holdfast.kernel import (
    AsyncDriverPorts,
    Busy,
    Conflict,
    Logged,
    Outcome,
    Unknown,
    Versioned,
    Workflow,
    Write,
    advance_async,
)
from holdfast.kernel.driver import outcome_of
from holdfast.leases import agreement
from holdfast.leases.cap import Cap, View, coordinator
from holdfast.leases.ports import CapStore, Effect, Seen
from holdfast.sim.gate import Kind
from holdfast.sim.scenarios.scenario import Watched, describe, named
from holdfast.sim.world import Process, World

APP = "my-app"
SUBJECT = coordinator(APP)
RECONCILE_S = 600.0


@dataclass
class SimStream:
    """A stream whose shard counts are listed late at times."""

    shards: int
    before: int


class Agreeing:
    name = "agreeing on the cap"

    def __init__(
        self, world: World, store: CapStore, workflow: Workflow[Cap, Seen, Effect] | None = None
    ) -> None:
        self.world, self.caps = world, store
        self.store = Watched(store, self._judge)
        self.workflow = workflow or agreement.WORKFLOW
        self.accidents: list[str] = []
        self.actions = 0
        self.stream = SimStream(30, 30)
        self.workers: dict[str, int] = {}
        """The cap in force at each living worker."""
        self._hired = 0
        self._calm = False

    def begin(self) -> None:
        for _ in range(3):
            self._hire()
        self.world.every(2_400, self._reshard)
        self.world.every(3_000, self._come_or_go)

    def calm(self) -> None:
        self._calm = True

    def phase(self) -> str:
        agreed = self.store.read(SUBJECT).value
        if agreed.view != self._truth():
            return "agreeing: outdated"
        behind = any(cap != agreed.max_leases_per_worker for cap in self.workers.values())
        return "agreeing: applying" if behind else "agreeing: agreed"

    def events(self, after: int) -> Sequence[Logged]:
        return self.store.events(SUBJECT, after)

    def next_step(self) -> str:
        """What the worker that is furthest behind does next."""
        behind = min(
            self.workers,
            key=lambda worker: (self.workers[worker] == self._truth().max_leases_per_worker, worker),
        )
        return describe(
            self.workflow.step(self.store.read(SUBJECT).value, self._look(behind, 0), self.world.now)
        )

    def unhealed(self) -> Sequence[str]:
        agreed, truth = self.store.read(SUBJECT).value, self._truth()
        if agreed.view != truth:
            return [f"L-K1: {agreed.view} is agreed, {truth} is true"]
        behind = {w: cap for w, cap in self.workers.items() if cap != truth.max_leases_per_worker}
        return [f"L-K1: {behind} have not applied {truth.max_leases_per_worker}"] if behind else []

    def _truth(self) -> View:
        return View(self.stream.shards, max(1, len(self.workers)))

    def _hire(self) -> None:
        self._hired += 1
        worker = f"worker-{self._hired}"
        self.workers[worker] = 0
        self.world.spawn_async(worker, partial(self._live, worker), phase=self.phase)

    async def _live(self, worker: str, process: Process) -> None:
        """One worker's life: reconcile, rest, again.  Killed, it is started anew."""
        ports = self._ports(worker, process)
        try:
            while worker in self.workers:
                try:
                    await advance_async(ports, self.workflow)
                except (Conflict, Busy, Unknown):
                    await process.sleep_async(5.0)
                    continue
                await process.sleep_async(RECONCILE_S * self.world.random.uniform(0.8, 1.2))
        finally:
            if worker in self.workers:
                self.workers[worker] = 0  # a restarted process has no cap in force
                self.world.after(20.0, partial(self._restart, worker))

    def _ports(self, worker: str, process: Process) -> AsyncDriverPorts[Cap, Seen, Effect]:
        store, call = self.store, process.call_async

        async def perform(effects: tuple[Effect, ...]) -> list[Outcome]:
            def apply() -> list[Outcome]:
                return [outcome_of(partial(self._apply, worker), effect) for effect in effects]

            answer: list[Outcome] = await call(named(effects[0]), Kind.CHANGE, apply)
            return answer

        return AsyncDriverPorts(
            read=lambda: call("read", Kind.READ, lambda: store.read(SUBJECT)),
            look=lambda: call(
                "look", Kind.LOOK, partial(self._look, worker, 0), partial(self._look, worker, 1)
            ),
            commit=lambda found, write, commit_id: call(
                "commit", Kind.CHANGE, lambda: store.commit(SUBJECT, found, write, commit_id)
            ),
            commit_id_at=lambda version: call(
                "read commit id", Kind.READ, lambda: store.commit_id_at(SUBJECT, version)
            ),
            perform=perform,
            pause=process.sleep_async,
            now_s=process.now_s,
            new_id=self.world.new_id,
            random=self.world.random.random,
        )

    def _restart(self, worker: str) -> None:
        if worker in self.workers:
            self.world.spawn_async(worker, partial(self._live, worker), phase=self.phase)

    def _look(self, worker: str, age: int) -> Seen:
        shards = self.stream.before if age else self.stream.shards
        view = View(shards, len(self.workers)) if self.workers else None
        return Seen(worker_id=worker, view=view, applied=self.workers.get(worker, 0))

    def _apply(self, worker: str, effect: Effect) -> None:
        self.caps.save_worker(APP, worker, effect.view, self.world.now)
        if worker in self.workers:
            self.workers[worker] = effect.view.max_leases_per_worker

    def _judge(self, before: Versioned[Cap], after: Versioned[Cap], write: Write[Cap]) -> None:
        if after.version != before.version + 1:
            self.accidents.append(f"S-A7: version {after.version} after {before.version}")
        view = after.value.view
        if view and view.unread and not any(event.kind == "shardsUnread" for event in write.events):
            self.accidents.append(f"S-K2: {view.unread} shards are unread, and no event says so")
        self.actions += 1

    def _reshard(self) -> None:
        if not self._calm:
            self.stream.before = self.stream.shards
            self.stream.shards = self.world.random.choice((30, 60, 120, 400))

    def _come_or_go(self) -> None:
        if self._calm:
            return
        if len(self.workers) < 3 or (len(self.workers) < 6 and self.world.random.random() < 0.5):
            self._hire()
        else:
            del self.workers[self.world.random.choice(sorted(self.workers))]
