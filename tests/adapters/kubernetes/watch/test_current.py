"""When what was watched must not be used: if in doubt."""

import pytest

from holdfast.adapters.kubernetes.watch.course import Pace
from holdfast.adapters.kubernetes.watch.current import Fed, doubt

PACE = Pace(fed_s=7.0, lag_s=1.0)
NOW_S = 1_000.0
PODS, NODES = Fed("pods", True, NOW_S - 1), Fed("nodes", True, NOW_S - 2)


def test_what_was_heard_of_just_now_is_current() -> None:
    assert doubt([PODS, NODES], NOW_S, float("-inf"), PACE) == ""
    assert doubt([PODS, NODES], NOW_S, NOW_S - 3, PACE) == "", "a change of the record has reached both"


@pytest.mark.parametrize(
    ("nodes", "since_s", "why"),
    [
        (Fed("nodes", False, NOW_S), 0.0, "nodes are not followed now"),
        (Fed("nodes"), 0.0, "nodes are not followed now"),
        (Fed("nodes", True, NOW_S - 7.1), 0.0, "no word of nodes for 7 s"),
        (Fed("nodes", True, NOW_S - 2), NOW_S - 1, "no word of nodes since the record changed"),
        (Fed("nodes", True, NOW_S - 2), NOW_S - 2.9, "no word of nodes since the record changed"),
    ],
    ids=["missed something", "never listed", "silent", "older than the record", "on its way"],
)
def test_one_kind_that_may_be_stale_is_enough(nodes: Fed, since_s: float, why: str) -> None:
    assert doubt([Fed("pods", True, NOW_S), nodes], NOW_S, since_s, PACE) == why
