"""Bounds of every decision, and which machines count as workers for which question."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler.decide import AddWorkers, Hold, RemoveWorkers, book, decision_event, is_idle, stamp
from holdfast.autoscaler.fleet import is_leaving, on_its_way, size, size_of_pool, unlisted
from holdfast.autoscaler.ports import Load
from holdfast.autoscaler.reasons import Reason
from holdfast.autoscaler.record import (
    Cluster,
    Condemned,
    Interrupted,
    LaunchStatus,
    PoolFailure,
    Recent,
    Tombstone,
)
from holdfast.autoscaler.settings import Pool
from holdfast.autoscaler.snapshot import Need, Worker
from holdfast.cloud import Market, NoticeKind, Offering, Prices
from tests.autoscaler.unit.decide.test_decide import CALM, THREE, TWO, decided, hold, scaled_up
from tests.autoscaler.unit.scale_up.test_action import row, scaling_up
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, booting, snapshot, worker

AT_S = int(NOW_S)
GPU = (Pool(), Pool(name="gpu"))


def of_gpu(instance_id: str) -> Worker:
    return replace(worker(instance_id), instance=replace(worker(instance_id).instance, pool="gpu"))


def test_a_pause_without_a_reason_is_one_too() -> None:
    assert hold(snapshot(*THREE, cpu=0.1), replace(CALM, paused_until_s=AT_S + 1)) == "paused"
    assert isinstance(decided(snapshot(*THREE, cpu=0.1), replace(CALM, paused_until_s=AT_S)), RemoveWorkers)


def test_what_a_pool_lacks_counts_for_the_floor_of_all() -> None:
    pools = (Pool(), Pool(name="gpu", min_workers=3))

    decision = decided(snapshot(*TWO, of_gpu("i-3")), pools=pools, min_workers=5)

    assert isinstance(decision, AddWorkers)
    assert [(need.pool, need.count) for need in decision.needs] == [("gpu", 2)]
    more = decided(snapshot(*TWO, of_gpu("i-3")), pools=pools, min_workers=6)
    assert isinstance(more, AddWorkers)
    assert [(need.pool, need.count) for need in more.needs] == [("gpu", 2), ("default", 1)]


@pytest.mark.parametrize(("most", "launched"), [(12, 3), (7, 2), (6, 1), (5, 0)])
def test_the_floor_is_made_good_beside_many_machines_without_a_node_as_far_as_there_is_room(
    most: int, launched: int
) -> None:
    """One serves, four have lost their nodes, and the list of nodes is in doubt: they may all serve."""
    lost = [booting(f"i-{n}", late=True) for n in range(2, 6)]
    seen = snapshot(worker("i-1"), *lost, doubts=("4 of 5 machines have no node at once",))

    decision = decided(seen, min_workers=4, max_workers=most)

    asked = sum(need.count for need in decision.needs) if isinstance(decision, AddWorkers) else 0
    assert asked == launched


def test_no_floor_is_made_good_where_no_node_is_listed() -> None:
    lost = [booting(f"i-{n}", late=True) for n in range(5)]

    assert not isinstance(decided(snapshot(*lost, doubts=("no node",)), min_workers=4), AddWorkers)
    assert scaled_up(snapshot(*lost), min_workers=4) == 4, "nothing is in doubt: their nodes are gone"


def test_each_wait_is_over_when_its_time_has_come() -> None:
    waited = replace(CALM, pending_since_s=AT_S - SETTINGS.pending_up_s)
    assert scaled_up(snapshot(*TWO, pending=1), waited) == 1
    cooled = replace(CALM, last_up_s=AT_S - SETTINGS.cooldown_up_s)
    assert scaled_up(snapshot(*TWO, pending=1), cooled) == 1
    assert (
        scaled_up(snapshot(*TWO, pending=1), replace(CALM, pool_failures=(PoolFailure("default", 1, AT_S),)))
        == 1
    )
    idle = replace(CALM, idle_since_s=AT_S - SETTINGS.idle_down_s)
    assert isinstance(decided(snapshot(*THREE, cpu=0.1), idle), RemoveWorkers)
    rested = replace(CALM, last_scale_s=AT_S - SETTINGS.cooldown_down_s)
    assert isinstance(decided(snapshot(*THREE, cpu=0.1), rested), RemoveWorkers)


def wanting(*needs: Need) -> Any:
    return snapshot(*TWO, pending=9, needs=lambda coming: needs)


def test_one_batch_is_shared_by_all_pools() -> None:
    needs = (Need("default", 2), Need("gpu", 2))

    assert scaled_up(wanting(*needs), pools=GPU, max_batch_up=3) == 3
    assert scaled_up(wanting(*needs), pools=GPU, max_batch_up=9, max_workers=5) == 3


def test_a_pool_that_was_taken_out_of_the_settings_does_not_scale_up() -> None:
    assert "maximum size" in hold(wanting(Need("old", 1)))
    assert scaled_up(wanting(Need("old", 1), Need("default", 1))) == 1


def test_idle_is_little_load_over_the_whole_window_and_no_pod_that_waits() -> None:
    def idle(cpu: float | None, peak: float | None = None, pending: int = 0) -> bool:
        return is_idle(snapshot(*TWO, load=Load(cpu, peak), pending=pending), SETTINGS)

    low, limit = SETTINGS.cpu_down / 2, SETTINGS.cpu_down
    assert idle(low)
    assert idle(low, low)
    assert not idle(low, pending=1)
    assert not idle(None)
    assert not idle(limit)
    assert not idle(low, limit)


def test_only_a_hold_leaves_its_reason_in_the_record() -> None:
    held = book(Cluster(), snapshot(*TWO), Hold(Reason.AT_MINIMUM, "because"), SETTINGS, NOW_S)
    scaled_down = book(replace(CALM, hold_reason="because"), snapshot(*TWO), RemoveWorkers(), SETTINGS, NOW_S)

    assert held is not None
    assert held.value.hold_reason == "because"
    assert scaled_down is not None
    assert scaled_down.value.hold_reason == ""


def test_while_an_action_is_open_the_stamps_move_and_nothing_else() -> None:
    pending, idle, busy = (
        snapshot(*TWO, pending=1),
        snapshot(*TWO, cpu=0.1),
        snapshot(*TWO, cpu=0.9),
    )
    open_scale_up = scaling_up(row(1, "i-9"))

    waits = stamp(open_scale_up, pending, SETTINGS, NOW_S)
    assert waits is not None
    assert waits.value == replace(open_scale_up, pending_since_s=AT_S)
    assert (waits.events[0].about, waits.events[0].reason) == ("pending", "pods wait for room")
    assert stamp(waits.value, pending, SETTINGS, NOW_S + 60) is None
    rests = stamp(waits.value, idle, SETTINGS, NOW_S + 60)
    assert rests is not None
    assert rests.value == replace(open_scale_up, idle_since_s=AT_S + 60)
    assert (rests.events[0].about, rests.events[0].reason) == ("idle", "the workers are idle")
    works = stamp(rests.value, busy, SETTINGS, NOW_S + 90)
    assert works is not None
    assert works.value == open_scale_up
    assert (works.events[0].about, works.events[0].reason) == ("neither", "busy enough")


def test_a_decision_is_told_with_what_was_known() -> None:
    prices = Prices({Offering(zone, Market.SPOT, "m5.large"): 0.123456 for zone in "ab"})
    known = decision_event(
        scaling_up(row(count=1)),
        snapshot(*TWO, pending=3, cpu=0.123456, prices=prices),
        Hold(Reason.AT_MINIMUM, "x"),
        NOW_S,
    )
    unknown = decision_event(Cluster(), snapshot(*TWO, cpu=None), RemoveWorkers(), NOW_S)

    assert known.numbers == {
        "workers": 2,
        "size": 3,
        "pending": 3,
        "unsatisfiable": 0,
        "cpu": 0.1235,
        "usdPerHour": 0.2469,
    }
    assert (unknown.about, unknown.reason) == ("scale-down", "the workers are idle")
    assert unknown.numbers == {"workers": 2, "size": 2, "pending": 0, "unsatisfiable": 0}


@pytest.mark.parametrize(
    ("cluster", "leaves"),
    [
        (Cluster(), False),
        (Cluster(gone=(Tombstone("i-9", 1),)), True),
        (Cluster(condemned=(Condemned("i-9", "1-a", "surplus", 1),)), True),
        (Cluster(interrupted=(Interrupted("i-9", NoticeKind.INTERRUPTION, 1, 2),)), True),
        (Cluster(interrupted=(Interrupted("i-9", NoticeKind.GONE, 1, 2),)), True),
        (Cluster(interrupted=(Interrupted("i-9", NoticeKind.REBALANCE, 1, 2),)), False),
    ],
    ids=["nothing", "gone", "terminating", "interrupted", "ended", "hinted"],
)
def test_a_worker_that_leaves_is_no_capacity_to_build_on(cluster: Cluster, leaves: bool) -> None:
    named = replace(cluster, recent=(Recent("i-9", "default", "a", AT_S),))

    assert is_leaving(named, "i-9") is leaves
    assert unlisted(named, snapshot(*TWO)) == (() if leaves else ("i-9",))
    assert size(named, snapshot(*TWO)) == (2 if leaves else 3)
    assert size(cluster, snapshot(*TWO, worker("i-9"))) == (2 if leaves else 3)


def test_a_worker_that_joined_and_is_not_listed_counts_while_the_scale_up_is_open() -> None:
    cluster = scaling_up(row(1, "i-8", "i-9"), joined=("i-8",))

    assert unlisted(cluster, snapshot(*TWO)) == ("i-9", "i-8")
    assert unlisted(cluster, snapshot(*TWO, worker("i-8"))) == ("i-9",)


def test_a_pool_has_what_is_listed_what_is_not_yet_and_what_is_asked_for() -> None:
    rows = (
        row(1, "i-8", pool="gpu"),
        row(2, pool="gpu", count=2),
        row(3, pool="gpu", count=3, status=LaunchStatus.ABANDONED),
        row(4, "i-7"),
        row(5, count=4),
    )
    cluster = replace(
        scaling_up(*rows),
        recent=(Recent("i-6", "gpu", "a", AT_S), Recent("i-5", "default", "a", AT_S)),
    )
    seen = snapshot(*TWO, of_gpu("i-3"), of_gpu("i-6"))

    assert size_of_pool(cluster, seen, "gpu") == 2 + 1 + 2
    assert size_of_pool(cluster, seen, "default") == 2 + 2 + 4
    assert size_of_pool(cluster, seen, "another") == 0
    assert size_of_pool(Cluster(), seen, "gpu") == 2


def test_on_its_way_is_what_will_take_pods_before_long() -> None:
    assert on_its_way(Cluster(), snapshot(*TWO)) == 0
    assert on_its_way(Cluster(), snapshot(*TWO, booting("i-9"))) == 1
    assert on_its_way(Cluster(), snapshot(*TWO, worker("i-9", joining=True))) == 1
    assert on_its_way(Cluster(), snapshot(*TWO, booting("i-9", action_id=""))) == 0, "of another cluster"
    assert on_its_way(Cluster(), snapshot(*TWO, worker("i-9", joining=True, action_id=""))) == 0
    late = scaling_up(row(1, "i-9"))
    assert on_its_way(late, snapshot(*TWO, worker("i-9", ready=False))) == 1, "its scale-up waits for it"
    assert on_its_way(late, snapshot(*TWO)) == 1
    assert on_its_way(scaling_up(row(1, count=3)), snapshot(*TWO)) == 3
