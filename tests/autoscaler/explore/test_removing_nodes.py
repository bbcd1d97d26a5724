"""Several invocations scale down at once: pauses of any length, old listings, pods that stay, a reclaim.

The lock is left out on purpose: it saves work, and nothing here may depend on it.
"""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.workflow import workflow
from holdfast.testing.explore import Explored
from tests.autoscaler.model.fleet import World, fleet
from tests.autoscaler.model.hands import Here, search, start
from tests.autoscaler.model.legal import Lawful
from tests.autoscaler.model.quiet import Whole
from tests.deep import cases
from tests.proof import prove

RESTLESS = Settings(min_workers=2, max_workers=3, pending_up_s=0, idle_down_s=0, cooldown_down_s=0)
"""No pause between two scale-downs."""
TWO_AT_ONCE = replace(RESTLESS, max_workers=4, max_batch_down=2)
ROOM_FOR_MORE = replace(RESTLESS, max_workers=4)


def scaling_down(workers: int = 3, *, hands: int = 2, wanted: int = 2, **around: Any) -> Here:
    return start(World(fleet("a" * workers), wanted, zones=("a",), brisk=True), hands=hands, **around)


CASES: dict[str, tuple[Here, Settings]] = {
    "three hands": (scaling_down(hands=3), RESTLESS),
    "two leave at once, three hands": (scaling_down(4, hands=3), TWO_AT_ONCE),
    "an old listing": (scaling_down(hands=3, wanted=1), RESTLESS),
    "an old listing, and a pod that stays": (scaling_down(hands=1, wanted=1, blocks=1), RESTLESS),
    "a pod that stays": (scaling_down(blocks=1), RESTLESS),
    "a long sleep": (scaling_down(jumps=1), RESTLESS),
    "an untold reclaim": (scaling_down(reclaims=1), RESTLESS),
    "a long sleep, and a pod that stays": (scaling_down(jumps=1, blocks=1), RESTLESS),
    "a reclaim, and the load comes back": (scaling_down(reclaims=1, loads=(4,)), ROOM_FOR_MORE),
    "three hands, and a pod that stays": (scaling_down(hands=3, blocks=1), RESTLESS),
}
"""An old listing: the load wants one of three.  If the one that left counted because it is still listed, a
second would leave too: at the latest when the first is kept, because a pod on its node must stay.
A long sleep: a drain is given up by the clock, and a hand that was to drain wakes up and cordons."""

EVERY_OVERTAKING = {"three hands", "two leave at once, three hands", "an old listing", "a pod that stays"}
"""Small enough for hands that are overtaken again and again between reading and looking."""
LONG = {
    "a long sleep, and a pod that stays",
    "a reclaim, and the load comes back",
    "three hands, and a pod that stays",
    "an untold reclaim",
}


def visit(whole: Whole, case: str, *, allowed: Lawful | None = None) -> Explored:
    first, settings = CASES[case]
    return search(whole, first, settings, overtaken_once=case not in EVERY_OVERTAKING, allowed=allowed)


@pytest.mark.parametrize("case", cases(CASES, deep=LONG))
def test_hands_do_no_harm_and_can_always_end_well(case: str) -> None:
    first, settings = CASES[case]

    result = visit(workflow(settings), case)

    assert result.states >= 50
    prove(
        "explore", "scale-down", case=case, states=result.states, edges=result.edges, hands=len(first.hands)
    )
