"""What is worth a message, and what is not."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler.notifications.causes import Cause, Causes, causes
from holdfast.autoscaler.notifications.message import Message
from holdfast.autoscaler.notifications.record import Notification, Stage
from holdfast.autoscaler.reasons import Reason
from holdfast.autoscaler.record import Cluster, PoolFailure, Purpose, ScaleDown, Skip, Spent, Swept, Target
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.snapshot import Worker
from holdfast.cloud import Market, State
from tests.autoscaler.unit.snapshots import snapshot, worker

NOW_S = 1_000_000
SETTINGS = Settings(max_workers=4)
SPENT = tuple(Spent("a", NOW_S - 60, 12, purpose) for purpose in Purpose)


def found(cluster: Cluster, *workers: Worker, settings: Settings = SETTINGS, **seen: Any) -> Causes:
    return causes(cluster, snapshot(*workers, **seen), settings, NOW_S)


@pytest.mark.parametrize(
    ("cluster", "cause", "about"),
    [
        (
            Cluster(pool_failures=(PoolFailure("gpu", 2, NOW_S + 60, "no image"),)),
            Cause.SCALE_UP_FAILED,
            "pool gpu",
        ),
        (Cluster(pool_failures=(PoolFailure("gpu", 0, NOW_S - 200),)), Cause.NO_CAPACITY, "pool gpu"),
        (
            Cluster(hold_code=Reason.NOWHERE_TO_LAUNCH, hold_reason="no dollars"),
            Cause.NO_CAPACITY,
            "the fleet",
        ),
        (
            Cluster(skipped=(Skip("i-1", "not drained within 300 s: shop/web", NOW_S + 9),)),
            Cause.DRAIN_STUCK,
            "i-1",
        ),
        (Cluster(scale_down=ScaleDown("a", NOW_S - 400, (Target("i-1"),))), Cause.DRAIN_STUCK, "i-1"),
        (Cluster(spent=SPENT), Cause.BUDGET_REACHED, "launches for pods that wait"),
        (
            Cluster(swept=tuple(Swept(f"i-{n}", NOW_S - 9) for n in range(20))),
            Cause.BUDGET_REACHED,
            "the sweep",
        ),
        (Cluster(refused_uid="other"), Cause.BRAKE_ENGAGED, "the cluster"),
    ],
)
def test_a_record_that_is_worth_a_message(cluster: Cluster, cause: Cause, about: str) -> None:
    assert (cause, about) in found(cluster)


def test_a_brake_and_on_demand_in_place_of_spot_are_seen_in_the_fleet() -> None:
    on_demand = worker("i-1", market=Market.ON_DEMAND)
    assert found(Cluster(), on_demand) == {
        (Cause.ON_DEMAND_FALLBACK, "pool default"): (
            "1 of its workers is on-demand, because spot had no capacity"
        )
    }
    never_spot = Settings(pools=(Pool(market="on-demand"),))
    assert not found(Cluster(), on_demand, settings=never_spot)
    braked = found(Cluster(), troubles=("3 of 4 nodes are not ready at once",))
    assert list(braked) == [(Cause.BRAKE_ENGAGED, "the fleet")]


@pytest.mark.parametrize(
    "cluster",
    [
        Cluster(),
        Cluster(pool_failures=(PoolFailure("gpu", 2, NOW_S - 301, "long ago"),)),
        Cluster(skipped=(Skip("i-1", "a pod may not leave", NOW_S + 9),)),
        Cluster(hold_code=Reason.AT_MAXIMUM, hold_reason="the fleet has its maximum size"),
        Cluster(scale_down=ScaleDown("a", NOW_S - 200, (Target("i-1"),))),
    ],
)
def test_a_record_that_is_not(cluster: Cluster) -> None:
    assert not found(cluster)


def test_a_message_has_one_id_and_no_control_character() -> None:
    each = Notification(Cause.DRAIN_STUCK, "node\x1b[31m", "pod \x07 stays", NOW_S, NOW_S + 90)
    begun, over = (Message.of(each, stage, "shop") for stage in Stage)
    assert begun.id == Message.of(replace(each, over_s=0), Stage.BEGUN, "shop").id != over.id
    assert over.text.startswith("Over after 1m30s: Drain is stuck: node")
    assert not [c for c in f"{begun.text}{over.subject}{over.as_json()}" if ord(c) < 32]
    assert begun.as_json()["over"] is None
    assert over.subject.isascii()
    assert len(over.subject) <= 100


def test_only_workers_of_ours_that_live_tell_of_spot_without_capacity() -> None:
    mine = worker("i-1", market=Market.ON_DEMAND)
    foreign = worker("i-2", market=Market.ON_DEMAND, action_id="")
    ended = worker("i-3", market=Market.ON_DEMAND, state=State.TERMINATED)
    told = (Cause.ON_DEMAND_FALLBACK, "pool default")

    assert found(Cluster(), mine, foreign, ended)[told].startswith("1 of its workers")
    assert told not in found(Cluster(), foreign, ended)


def test_a_node_that_was_kept_may_be_tried_again_and_is_stuck_no_more() -> None:
    def stuck(until_s: int) -> bool:
        skip = Skip("i-1", "not drained within 300 s", until_s)
        return (Cause.DRAIN_STUCK, "n-i-1") in found(Cluster(skipped=(skip,)), worker("i-1"))

    assert stuck(NOW_S + 1)
    assert not stuck(NOW_S)
