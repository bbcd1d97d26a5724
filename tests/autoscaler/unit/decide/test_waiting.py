"""For how long pods have waited: by the record, and by their own conditions."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from holdfast.autoscaler.decide import UNSEEN_MAX_S, AddWorkers, Hold, decide, pending_for_s
from holdfast.autoscaler.reasons import Reason
from holdfast.autoscaler.record import Cluster, PoolFailure
from holdfast.autoscaler.snapshot import NEVER_S
from holdfast.autoscaler.snapshot.build import build
from holdfast.cloud.kubernetes import Pod
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, snapshot, worker
from tests.workloads import listings, pending

SEEN_NOW = Cluster()
"""No tick has noted a pod that waits."""


def waited_s(seen_s: float, own_s: float) -> float:
    """First seen so long ago, and by its own condition one waits for so long."""
    cluster = replace(SEEN_NOW, pending_since_s=int(NOW_S - seen_s) if seen_s else 0)
    look = snapshot(worker("i-1"), pending=1, pending_since_s=lambda: NOW_S - own_s)
    return pending_for_s(cluster, look, SETTINGS, NOW_S)


@pytest.mark.parametrize(
    ("seen_s", "own_s", "counts_s"),
    [
        (0, 45, 45),
        (120, 165, 165),
        (120, 5, 120),  # others waited before it: pods that come and go are as before
        (120, -30, 120),  # the API server's clock is ahead
        (0, -30, 0),
        (0, 3_600, UNSEEN_MAX_S),  # its gates were lifted just now
        (60, 3_600, 60 + UNSEEN_MAX_S),
        (300, 0, 300),
        (0, float("-inf"), 0),
    ],
)
def test_the_longer_of_both_counts_and_the_condition_adds_a_minute_at_most(
    seen_s: float, own_s: float, counts_s: float
) -> None:
    assert waited_s(seen_s, own_s) == counts_s


def test_workers_are_asked_for_once_the_pod_itself_has_waited() -> None:
    noted = replace(SEEN_NOW, pending_since_s=int(NOW_S) - 130)
    ripe, unripe = (
        snapshot(worker("i-1"), worker("i-2"), pending=1, pending_since_s=lambda own_s=own_s: NOW_S - own_s)
        for own_s in (SETTINGS.pending_up_s, SETTINGS.pending_up_s - 1)
    )

    assert isinstance(decide(noted, ripe, SETTINGS, NOW_S), AddWorkers)
    held = decide(noted, unripe, SETTINGS, NOW_S)
    assert isinstance(held, Hold)
    assert held.until_s == NOW_S + 1, "then another decision is due"


def test_where_workers_are_wanted_the_end_of_what_keeps_them_from_coming_is_known() -> None:
    """A loop turns then: what waits must not wait for its next regular turn too."""
    ripe = snapshot(worker("i-1"), worker("i-2"), pending=1)
    noted = replace(SEEN_NOW, pending_since_s=int(NOW_S) - 999)
    cooling = replace(noted, last_up_s=int(NOW_S) - SETTINGS.cooldown_up_s + 7)
    failed = replace(noted, pool_failures=(PoolFailure("default", 1, int(NOW_S) + 40, "no image"),))

    held = [decide(cluster, ripe, SETTINGS, NOW_S) for cluster in (cooling, failed)]

    assert [(each.code, each.until_s) for each in held if isinstance(each, Hold)] == [
        (Reason.SCALE_UP_COOLING_DOWN, NOW_S + 7),
        (Reason.BACKING_OFF, NOW_S + 40),
    ]


def refused(name: str, *, since_s: float | None, cpu: str = "1") -> Pod:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    if since_s is not None:
        condition["lastTransitionTime"] = f"{datetime.fromtimestamp(since_s, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return pending(name, cpu=cpu, status={"conditions": [condition]})


def test_the_first_pod_that_a_new_node_would_take_is_that_which_counts() -> None:
    giant = refused("giant", since_s=NOW_S - 900, cpu="64")
    young, old = refused("web-1", since_s=NOW_S - 10), refused("web-2", since_s=NOW_S - 70)

    assert build(listings(pods=[giant, young, old])).pending_since_s() == NOW_S - 70
    assert build(listings(pods=[giant, young])).pending_since_s() == NOW_S - 10
    assert build(listings(pods=[giant])).pending_since_s() == NEVER_S
    assert build(listings(pods=[refused("web-1", since_s=None)])).pending_since_s() == NEVER_S
