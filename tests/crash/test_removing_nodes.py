"""Kill the process at every boundary, in every combination, and start it again.

Not a sample: `every_run` visits each schedule of up to three faults exactly once.
"""

from collections.abc import Iterator
from itertools import count

import pytest

from holdfast.autoscaler import shrink
from holdfast.autoscaler.codec import CODEC, SUBJECT
from holdfast.autoscaler.place import Node
from holdfast.autoscaler.ports import Effect, Seen
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Settings
from holdfast.kernel import (
    Busy,
    Conflict,
    Done,
    Hands,
    Unknown,
    Versioned,
    Wait,
    Workflow,
    Write,
    advance,
)
from holdfast.sim.choices import Choose, every_run
from holdfast.sim.fleet import SimFleet
from holdfast.sim.gate import Crash, Enumerated, Gated, Kind
from holdfast.sim.memory import MemoryItems
from holdfast.sim.scenarios.scenario import Watched
from tests.deep import DEEP
from tests.model.legal import Lawful, lawful
from tests.model.remember import Numbers
from tests.proof import prove

TURNS_MAX = 60
POLICY = shrink.Policy(min_workers=2, max_batch_down=2, cooldown_down_s=0)
SETTINGS = Settings(remember_s=POLICY.remember_s)


class Run:
    """One life of the workflow, under one schedule of faults."""

    def __init__(
        self,
        choose: Choose,
        faults: int,
        nodes_n: int,
        workflow: Workflow[Cluster, Seen, Effect],
        judge: Lawful,
    ) -> None:
        self.gate = Enumerated(choose, faults)
        self.store = Watched(MemoryItems(CODEC), self._judge)
        self.lawful, self.illegal = judge, list[str]()
        nodes = {f"i-{n}": Node(f"i-{n}", zone="a", launched_s=n) for n in range(1, nodes_n + 1)}
        self.fleet = SimFleet(nodes, wanted=2, record=lambda: self.store.read(SUBJECT).value)
        self.at_first = self.fleet.look("tick-0")
        self.workflow, self.now, self.ticks = workflow, 1_000.0, count(1)
        self.ids = (f"commit-{n}" for n in count())

    def hands(self) -> Hands[Cluster, Seen, Effect]:
        me = f"tick-{next(self.ticks)}"
        gate, fleet = self.gate, self.fleet
        return Hands.on(
            Gated(self.store, gate),
            SUBJECT,
            look=lambda: gate.call("look", Kind.LOOK, lambda: fleet.look(me), stale=lambda: self.at_first),
            perform=lambda effect: gate.call(str(effect), Kind.CHANGE, lambda: fleet.perform(effect)),
            clock=self,
            new_id=lambda: next(self.ids),
            dice=lambda: 1.0,
        )

    def now_s(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def _judge(self, before: Versioned[Cluster], after: Versioned[Cluster], write: Write[Cluster]) -> None:
        if problem := self.lawful(before.value, write, self.now):
            self.illegal.append(problem)

    def to_the_end(self) -> None:
        for _ in range(TURNS_MAX):
            self.now += 1
            try:
                ahead = advance(self.hands(), self.workflow)
            except (Crash, Busy, Unknown, Conflict):
                continue
            if isinstance(ahead, Wait):
                self.now = max(self.now, ahead.until_s)
            if isinstance(ahead, Done) and not self.gate.stale:
                return
        raise AssertionError("it never ends\n" + self.gate.story())


def runs(*, faults: int, nodes: int, workflow: Workflow[Cluster, Seen, Effect]) -> Iterator[Run]:
    judge = lawful(SETTINGS, Numbers())
    for choose in every_run():
        run = Run(choose, faults, nodes, workflow, judge)
        run.to_the_end()
        yield run


def judge(run: Run, *, leave: set[str], stay: set[str]) -> None:
    assert set(run.fleet.nodes) == stay, run.gate.story()
    assert not run.fleet.accidents, run.gate.story()
    assert not run.illegal, "\n".join([*run.illegal, run.gate.story()])
    assert not run.fleet.cordons, run.gate.story()
    assert run.store.read(SUBJECT).value.scale_down is None, run.gate.story()
    told = run.store.events(SUBJECT)
    assert [e.event.kind for e in told if not e.event.about.startswith("i-")] == [
        "beginScaleDown",
        "completeScaleDown",
    ], run.gate.story()
    for node in leave:
        assert [e.event.kind for e in told if e.event.about == node] == [
            "drained",
            "condemned",
            "markScaleDownInstanceDone",
        ], run.gate.story()


@pytest.mark.parametrize(("faults", "at_least"), [(2, 500), pytest.param(3, 5_000, marks=DEEP)])
def test_a_node_leaves_once_however_often_it_dies(faults: int, at_least: int) -> None:
    """Whatever fails, and however often: one plan, one drain, one condemnation, one end."""
    schedules = 0
    for run in runs(faults=faults, nodes=3, workflow=shrink.workflow(POLICY)):
        judge(run, leave={"i-1"}, stay={"i-2", "i-3"})
        schedules += 1

    assert schedules >= at_least
    prove("crash", "shrink", schedules=schedules, faults=faults)


def test_two_nodes_leave_side_by_side_whatever_dies_twice() -> None:
    schedules = 0
    for run in runs(faults=2, nodes=4, workflow=shrink.workflow(POLICY)):
        judge(run, leave={"i-1", "i-2"}, stay={"i-3", "i-4"})
        schedules += 1

    prove("crash", "shrink", schedules=schedules, faults=2)
