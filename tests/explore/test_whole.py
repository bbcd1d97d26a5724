"""Growing, shrinking and interruptions at once, on one record, by several hands."""

from typing import Any

import pytest

from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.workflow import workflow
from holdfast.cloud import NoticeKind
from tests.deep import cases
from tests.model.fleet import World, fleet
from tests.model.hands import Here, search, start
from tests.proof import prove

INTERRUPTION, REBALANCE = NoticeKind.INTERRUPTION, NoticeKind.REBALANCE


def settings_for(most: int) -> Settings:
    return Settings(min_workers=2, max_workers=most, pending_up_s=0, idle_down_s=0)


def shrinking(*, hands: int = 2, zones: str = "aaa", **around: Any) -> Here:
    """Three workers for a load of two."""
    world = World(fleet(zones), 2, zones=tuple(sorted(set(zones))), brisk=True)
    return start(world, hands=hands, **around)


def growing(**around: Any) -> Here:
    """Two workers for a load of three."""
    return start(World(fleet("aa"), 3, brisk=True), hands=2, **around)


CASES: dict[str, tuple[Here, int]] = {
    "a shrink, and another worker is taken": (shrinking(coming=(("i-2", INTERRUPTION),)), 3),
    "a shrink, and the one that leaves is taken": (shrinking(coming=(("i-1", INTERRUPTION),)), 3),
    "a shrink, and a hint for the one that leaves": (shrinking(coming=(("i-1", REBALANCE),)), 3),
    "a shrink, a reclaim that nobody tells, a pod that stays": (shrinking(reclaims=1, blocks=1), 3),
    "a shrink over two zones, and a reclaim": (shrinking(zones="aab", reclaims=1), 3),
    "a shrink, and the load comes back": (shrinking(loads=(4,)), 4),
    "a shrink, and the load comes back, three hands": (shrinking(hands=3, loads=(4,)), 4),
    "growing, and an old worker is taken": (growing(coming=(("i-1", INTERRUPTION),)), 3),
    "growing, and the new worker is taken": (growing(coming=(("i-new-1", INTERRUPTION),)), 3),
    "growing, and the load leaves again": (growing(loads=(2,)), 3),
}


LONG = {
    "a shrink, a reclaim that nobody tells, a pod that stays",
    "a shrink, and another worker is taken",
    "a shrink, and the load comes back, three hands",
}


@pytest.mark.parametrize("case", cases(CASES, deep=LONG))
def test_everything_at_once_does_no_harm_and_ends_well(case: str) -> None:
    first, most = CASES[case]
    settings = settings_for(most)

    result = search(workflow(settings), first, settings)

    assert result.states >= 200
    prove("explore", "whole", case=case, states=result.states, edges=result.edges, hands=len(first.hands))
