"""Scaling up, scaling down and interruptions at once, on one record, by several hands."""

from typing import Any

import pytest

from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.workflow import workflow
from holdfast.cloud import NoticeKind
from tests.autoscaler.model.fleet import World, fleet
from tests.autoscaler.model.hands import Here, search, start
from tests.deep import cases
from tests.proof import prove

INTERRUPTION, REBALANCE = NoticeKind.INTERRUPTION, NoticeKind.REBALANCE


def settings_for(most: int) -> Settings:
    return Settings(min_workers=2, max_workers=most, pending_up_s=0, idle_down_s=0)


def scaling_down(*, hands: int = 2, zones: str = "aaa", **around: Any) -> Here:
    """Three workers for a load of two."""
    world = World(fleet(zones), 2, zones=tuple(sorted(set(zones))), brisk=True)
    return start(world, hands=hands, **around)


def scaling_up(**around: Any) -> Here:
    """Two workers for a load of three."""
    return start(World(fleet("aa"), 3, brisk=True), hands=2, **around)


CASES: dict[str, tuple[Here, int]] = {
    "a scale-down, and another worker is taken": (scaling_down(coming=(("i-2", INTERRUPTION),)), 3),
    "a scale-down, and the one that leaves is taken": (scaling_down(coming=(("i-1", INTERRUPTION),)), 3),
    "a scale-down, and a hint for the one that leaves": (scaling_down(coming=(("i-1", REBALANCE),)), 3),
    "a scale-down, a reclaim without a notice, a pod that stays": (scaling_down(reclaims=1, blocks=1), 3),
    "a scale-down over two zones, and a reclaim": (scaling_down(zones="aab", reclaims=1), 3),
    "a scale-down, and the load comes back": (scaling_down(loads=(4,)), 4),
    "a scale-down, and the load comes back, three hands": (scaling_down(hands=3, loads=(4,)), 4),
    "scaling up, and an old worker is taken": (scaling_up(coming=(("i-1", INTERRUPTION),)), 3),
    "scaling up, and the new worker is taken": (scaling_up(coming=(("i-new-1", INTERRUPTION),)), 3),
    "scaling up, and the load leaves again": (scaling_up(loads=(2,)), 3),
}


LONG = {
    "a scale-down, a reclaim without a notice, a pod that stays",
    "a scale-down, and another worker is taken",
    "a scale-down, and the load comes back, three hands",
    "scaling up, and the new worker is taken",
}


@pytest.mark.parametrize("case", cases(CASES, deep=LONG))
def test_everything_at_once_does_no_harm_and_ends_well(case: str) -> None:
    first, most = CASES[case]
    settings = settings_for(most)

    result = search(workflow(settings), first, settings)

    assert result.states >= 200
    prove("explore", "whole", case=case, states=result.states, edges=result.edges, hands=len(first.hands))
