"""A reason whose figures change with every look is written once: only a change of its code is news."""

from dataclasses import replace
from typing import Any

from holdfast.autoscaler import decide as shipped
from holdfast.autoscaler.record import Cluster
from holdfast.kernel import Write
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, snapshot, worker
from tests.proof import prove
from tests.variants import broken

HOUR_S = 3_600
IDLE = snapshot(worker("i-1"), worker("i-2"), worker("i-3"), cpu=0.01)
LONG = replace(SETTINGS, idle_down_s=2 * HOUR_S, min_workers=2)


def writes(decide: Any) -> int:
    """Commits of an hour of ticks over a fleet that is idle, and not for long enough yet."""
    cluster, count = Cluster(), 0
    for now_s in range(int(NOW_S), int(NOW_S) + HOUR_S, 10):
        write = decide.book(cluster, IDLE, decide.decide(cluster, IDLE, LONG, now_s), LONG, now_s)
        if isinstance(write, Write):
            cluster, count = write.value, count + 1
    return count


def test_an_hour_of_waiting_is_one_commit() -> None:
    assert writes(shipped) == 1


def test_without_the_guard_every_look_is_a_commit() -> None:
    guard = "replace(noted, hold_reason=cluster.hold_reason) == cluster"
    assert writes(broken("holdfast.autoscaler.decide", {guard: "noted == cluster"})) > 50
    prove("variant", "H14: a text with changing figures is written at every look", caught_by="an idle hour")
