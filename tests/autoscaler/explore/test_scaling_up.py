"""Several invocations scale up at once: late first tries, refusals, old listings, machines that die.

The lock is left out on purpose: it is advisory, and nothing here may depend on it.
"""

import pytest

from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.workflow import workflow
from tests.autoscaler.model.fleet import World, fleet
from tests.autoscaler.model.hands import Here, search, start
from tests.deep import cases
from tests.proof import prove

SETTINGS = Settings(min_workers=2, max_workers=3, pending_up_s=0, idle_down_s=0)
"""One worker more fits; patience is another matter, and costs states."""
TWO_ZONES = ("a", "b")


def three_hands() -> Here:
    """Three at once, and one request that is refused: what is short is asked for elsewhere."""
    return start(World(fleet("aa"), 3, zones=TWO_ZONES), hands=3, refusals=1)


def a_late_first_try() -> Here:
    """H1: one sleeps before it asks, another is refused and asks elsewhere, then the first wakes up."""
    return start(World(fleet("aa"), 3, zones=TWO_ZONES), hands=2, refusals=1, jumps=1)


def a_machine_that_dies() -> Here:
    """The cloud takes any machine back at any time, the new one too, without a notice."""
    return start(World(fleet("aa"), 3, zones=TWO_ZONES), hands=2, refusals=1, reclaims=1)


def two_requests() -> Here:
    """Two zones at once: two requests with tokens of their own, one of them refused."""
    return start(World(fleet("ab"), 4, zones=TWO_ZONES), hands=2, refusals=1)


def an_old_listing_at_the_top() -> Here:
    """H4, upwards: a tick that does not see the new worker yet launches none past the maximum size."""
    return start(World(fleet("aa"), 5), hands=2, jumps=1)


def below_the_floor() -> Here:
    """The floor is repaired in the open scale-up: what is to be asked for elsewhere counts."""
    return start(World(fleet("a"), 2, zones=TWO_ZONES), hands=2, refusals=1)


CASES: dict[str, tuple[Here, Settings]] = {
    "three hands": (three_hands(), SETTINGS),
    "a late first try": (a_late_first_try(), SETTINGS),
    "a machine that dies": (a_machine_that_dies(), SETTINGS),
    "two requests": (
        two_requests(),
        Settings(min_workers=2, max_workers=4, pending_up_s=0, idle_down_s=0),
    ),
    "an old listing at the top": (
        an_old_listing_at_the_top(),
        Settings(
            min_workers=2, max_workers=3, max_batch_up=1, pending_up_s=0, idle_down_s=0, cooldown_up_s=0
        ),
    ),
    "below the floor": (
        below_the_floor(),
        Settings(min_workers=2, max_workers=2, pending_up_s=0, idle_down_s=0),
    ),
}


@pytest.mark.parametrize(
    "case", cases(CASES, deep={"three hands", "a machine that dies", "a late first try", "two requests"})
)
def test_hands_scale_up_the_fleet_once_and_leave_no_surplus(case: str) -> None:
    first, settings = CASES[case]

    result = search(workflow(settings), first, settings)

    assert result.states >= 200
    prove("explore", "scale-up", case=case, states=result.states, edges=result.edges, hands=len(first.hands))
