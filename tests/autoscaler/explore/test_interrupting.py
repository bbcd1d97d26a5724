"""Machines that the cloud takes back, while several invocations work: each is replaced once, if at all."""

import pytest

from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.workflow import workflow
from holdfast.cloud import NoticeKind
from tests.autoscaler.model.fleet import World, fleet
from tests.autoscaler.model.hands import Here, search, start
from tests.deep import cases
from tests.proof import prove

INTERRUPTION, REBALANCE, GONE = NoticeKind.INTERRUPTION, NoticeKind.REBALANCE, NoticeKind.GONE
FULL = Settings(min_workers=2, max_workers=2, pending_up_s=0, idle_down_s=0)
"""Two workers, and no room for a third beside an interrupted one's replacement."""


CASES: dict[str, Here] = {
    "an interruption": start(World(fleet("aa"), 2), hands=2, coming=(("i-1", INTERRUPTION),)),
    "an interruption, and time jumps": start(
        World(fleet("aa"), 2), hands=2, coming=(("i-1", INTERRUPTION),), jumps=1
    ),
    "an interruption, three hands": start(World(fleet("aa"), 2), hands=3, coming=(("i-1", INTERRUPTION),)),
    "both at once": start(
        World(fleet("aa"), 2, brisk=True), hands=2, coming=(("i-1", INTERRUPTION), ("i-2", INTERRUPTION))
    ),
    "a hint": start(World(fleet("aa"), 2), hands=2, coming=(("i-1", REBALANCE),)),
    "a hint, and no capacity": start(
        World(fleet("ab"), 2, zones=("a", "b"), brisk=True),
        hands=2,
        coming=(("i-1", REBALANCE),),
        refusals=1,
        jumps=1,
    ),
    "a hint that becomes certain": start(
        World(fleet("aa"), 2, brisk=True), hands=2, coming=(("i-1", REBALANCE), ("i-1", INTERRUPTION))
    ),
    "it is gone already": start(
        World(fleet("aa"), 2, brisk=True), hands=2, coming=(("i-1", GONE),), reclaims=1
    ),
}


LONG = {
    "an interruption, and time jumps",
    "an interruption, three hands",
    "both at once",
    "a hint, and no capacity",
    "a hint that becomes certain",
    "it is gone already",
}


@pytest.mark.parametrize("case", cases(CASES, deep=LONG))
def test_an_interrupted_machine_is_replaced_once(case: str) -> None:
    first = CASES[case]

    result = search(workflow(FULL), first, FULL)

    assert result.states >= 200
    prove(
        "explore", "interruption", case=case, states=result.states, edges=result.edges, hands=len(first.hands)
    )
