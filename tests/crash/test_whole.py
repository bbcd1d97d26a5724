"""Something befalls the fleet before any turn of an action, and the process dies at every boundary."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.workflow import workflow
from holdfast.cloud import NoticeKind
from tests.crash.test_interrupting import notice
from tests.deep import cases
from tests.model.fleet import World, fleet, taken_back
from tests.model.lives import Befall, Story, judge, lives
from tests.proof import prove

SETTINGS = Settings(
    min_workers=2, max_workers=4, pending_up_s=0, idle_down_s=60, cooldown_up_s=60, cooldown_down_s=60
)
TURNS = range(10)
"""Longer than either action: afterwards it befalls a quiet fleet."""

SHRINKING = World(fleet("aab"), 2, zones=("a", "b"))
GROWING = World(fleet("ab"), 3, zones=("a", "b"))


def load(wanted: int) -> Befall:
    return lambda world: replace(world, wanted=wanted)


def reclaim(instance_id: str) -> Befall:
    """The cloud takes it and tells nobody."""
    return lambda world: taken_back(world, instance_id) if world.machine(instance_id) else world


INTERRUPTION, REBALANCE = NoticeKind.INTERRUPTION, NoticeKind.REBALANCE

CASES: dict[str, tuple[World, Befall, Sequence[int]]] = {
    "a shrink, and the one that leaves is taken": (SHRINKING, notice("i-1", INTERRUPTION), (0, 1)),
    "a shrink, and another is taken": (SHRINKING, notice("i-2", INTERRUPTION), (0, 1)),
    "a shrink, and a hint": (SHRINKING, notice("i-2", REBALANCE), (0, 1)),
    "a shrink, and a reclaim": (SHRINKING, reclaim("i-3"), (0, 1)),
    "a shrink, and the load comes back": (SHRINKING, load(4), (1, 2)),
    "growing, and an old worker is taken": (GROWING, notice("i-1", INTERRUPTION), (1, 2)),
    "growing, and a reclaim": (GROWING, reclaim("i-1"), (1, 2)),
    "growing, and the load leaves": (GROWING, load(1), (0, 1)),
}


LONG = {
    "a shrink, and the one that leaves is taken",
    "a shrink, and a hint",
    "a shrink, and a reclaim",
    "growing, and a reclaim",
}


@pytest.mark.parametrize("case", cases(CASES, deep=LONG))
def test_whatever_befalls_it_and_whenever_it_ends_with_the_right_number(case: str) -> None:
    world, befall, launched = CASES[case]
    schedules = 0
    for turn in TURNS:
        for life in lives(Story(world, befall, turn), SETTINGS, workflow(SETTINGS), faults=1):
            judge(life, launched=launched)
            schedules += 1

    assert schedules >= 500
    prove("crash", "whole", schedules=schedules, faults=1)
