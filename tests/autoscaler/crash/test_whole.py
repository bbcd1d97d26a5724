"""Something befalls the fleet before any turn of an action, and the process dies at every boundary."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.workflow import workflow
from holdfast.cloud import NoticeKind
from tests.autoscaler.crash.test_interrupting import notice
from tests.autoscaler.model.fleet import World, fleet, taken_back
from tests.autoscaler.model.lives import Befall, Story, judge, lives
from tests.deep import cases
from tests.proof import prove

SETTINGS = Settings(
    min_workers=2, max_workers=4, pending_up_s=0, idle_down_s=60, cooldown_up_s=60, cooldown_down_s=60
)
TURNS = range(10)
"""Longer than either action: afterwards it befalls a quiet fleet."""

SCALING_DOWN = World(fleet("aab"), 2, zones=("a", "b"))
SCALING_UP = World(fleet("ab"), 3, zones=("a", "b"))


def load(wanted: int) -> Befall:
    return lambda world: replace(world, wanted=wanted)


def reclaim(instance_id: str) -> Befall:
    """The cloud takes it without a notice."""
    return lambda world: taken_back(world, instance_id) if world.machine(instance_id) else world


INTERRUPTION, REBALANCE = NoticeKind.INTERRUPTION, NoticeKind.REBALANCE

CASES: dict[str, tuple[World, Befall, Sequence[int]]] = {
    "a scale-down, and the one that leaves is taken": (SCALING_DOWN, notice("i-1", INTERRUPTION), (0, 1)),
    "a scale-down, and another is taken": (SCALING_DOWN, notice("i-2", INTERRUPTION), (0, 1)),
    "a scale-down, and a hint": (SCALING_DOWN, notice("i-2", REBALANCE), (0, 1)),
    "a scale-down, and a reclaim": (SCALING_DOWN, reclaim("i-3"), (0, 1)),
    "a scale-down, and the load comes back": (SCALING_DOWN, load(4), (1, 2)),
    "scaling up, and an old worker is taken": (SCALING_UP, notice("i-1", INTERRUPTION), (1, 2)),
    "scaling up, and a reclaim": (SCALING_UP, reclaim("i-1"), (1, 2)),
    "scaling up, and the load leaves": (SCALING_UP, load(1), (0, 1)),
}


LONG = {
    "a scale-down, and the one that leaves is taken",
    "a scale-down, and a hint",
    "a scale-down, and a reclaim",
    "scaling up, and a reclaim",
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
