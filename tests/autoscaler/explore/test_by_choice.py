"""Workers that are replaced or leave by choice, while several invocations work: once, and safely."""

import pytest

from holdfast.autoscaler.record import Cluster, Underused
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.workflow import workflow
from holdfast.cloud import NoticeKind
from tests.autoscaler.crash.test_by_choice import CONSOLIDATING, DRIFTING, ONE_OLD
from tests.autoscaler.model.fleet import World, fleet
from tests.autoscaler.model.hands import Here, search, start
from tests.deep import cases
from tests.proof import prove

EMPTY = World(fleet("aaa"), 2, empty=frozenset({"i-3"}), busy=True, brisk=True)

CASES: dict[str, tuple[Here, Settings]] = {
    "a worker is replaced": (start(ONE_OLD, hands=2), DRIFTING),
    "a worker is replaced, and time jumps": (start(ONE_OLD, hands=2, jumps=1), DRIFTING),
    "a worker is replaced, and the cloud takes it back": (
        start(ONE_OLD, hands=2, coming=(("i-1", NoticeKind.INTERRUPTION),)),
        DRIFTING,
    ),
    "an empty node leaves": (
        start(EMPTY, hands=2, cluster=Cluster(underused=(Underused("i-3", 1, 1),))),
        CONSOLIDATING,
    ),
}
LONG = {"a worker is replaced, and time jumps", "a worker is replaced, and the cloud takes it back"}


@pytest.mark.parametrize("case", cases(CASES, deep=LONG))
def test_what_is_done_by_choice_is_done_once(case: str) -> None:
    first, settings = CASES[case]

    result = search(workflow(settings), first, settings)

    assert result.states >= 80
    prove(
        "explore", "interruption", case=case, states=result.states, edges=result.edges, hands=len(first.hands)
    )
