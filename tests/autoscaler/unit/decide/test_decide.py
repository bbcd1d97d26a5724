"""When it scales up, when it scales down, and why it holds."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler.decide import AddWorkers, Decision, Hold, RemoveWorkers, book, decide
from holdfast.autoscaler.ports import Load
from holdfast.autoscaler.reasons import Reason
from holdfast.autoscaler.record import (
    Cluster,
    Condemned,
    Interrupted,
    PoolFailure,
    Purpose,
    Recent,
    Tombstone,
)
from holdfast.autoscaler.settings import Pool
from holdfast.autoscaler.snapshot import Need, Snapshot, Worker
from holdfast.cloud import NoticeKind
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, booting, snapshot, worker

TWO = (worker("i-1"), worker("i-2", "b"))
THREE = (*TWO, worker("i-3"))
LONG_AGO = int(NOW_S) - 5_000
CALM = Cluster(pending_since_s=LONG_AGO, idle_since_s=LONG_AGO, last_scale_s=LONG_AGO, last_up_s=LONG_AGO)


def decided(seen: Snapshot, cluster: Cluster = CALM, **settings: Any) -> Decision:
    return decide(cluster, seen, replace(SETTINGS, **settings), NOW_S)


def hold(seen: Snapshot, cluster: Cluster = CALM, **settings: Any) -> str:
    decision = decided(seen, cluster, **settings)
    assert isinstance(decision, Hold), decision
    return decision.why


def scaled_up(seen: Snapshot, cluster: Cluster = CALM, **settings: Any) -> int:
    decision = decided(seen, cluster, **settings)
    assert isinstance(decision, AddWorkers), decision
    return sum(need.count for need in decision.needs)


def test_idle_long_enough_it_scales_down() -> None:
    assert isinstance(decided(snapshot(*THREE, cpu=0.1)), RemoveWorkers)


@pytest.mark.parametrize(
    ("seen", "cluster", "why"),
    [
        (snapshot(*THREE, cpu=0.3), CALM, "neither busy nor idle"),
        (snapshot(*THREE, cpu=None), CALM, "not known: no data"),
        (snapshot(*THREE, cpu=0.1, load=Load(0.1, peak=0.6)), CALM, "neither busy nor idle"),
        (snapshot(*THREE, cpu=0.1), replace(CALM, idle_since_s=int(NOW_S) - 599), "s of 10m"),
        (snapshot(*THREE, cpu=0.1), replace(CALM, idle_since_s=0), "s of 10m"),
        (snapshot(*THREE, cpu=0.1), replace(CALM, last_scale_s=int(NOW_S) - 599), "cooling down"),
        (snapshot(*TWO, cpu=0.1), CALM, "minimum size"),
        (snapshot(*THREE, cpu=0.1, troubles=("half of them are not ready",)), CALM, "half of them"),
        (
            snapshot(*THREE, cpu=0.1),
            replace(CALM, paused_until_s=int(NOW_S) + 9, paused_why="lunch"),
            "lunch",
        ),
    ],
    ids=["cpu", "no data", "peak", "idle time", "not idle", "cool-down", "floor", "trouble", "paused"],
)
def test_each_precondition_of_a_scale_down_holds_it(seen: Snapshot, cluster: Cluster, why: str) -> None:
    assert why in hold(seen, cluster)


def test_pending_pods_are_never_idle() -> None:
    assert scaled_up(snapshot(*THREE, cpu=0.1, pending=1)) == 1


def test_workers_that_only_a_listing_remembers_do_not_count_for_a_scale_down() -> None:
    gone = replace(CALM, gone=(Tombstone("i-3", int(NOW_S)),))
    condemned = replace(CALM, condemned=(Condemned("i-3", "a", "scale-down", 1),))
    interrupted = replace(CALM, interrupted=(Interrupted("i-3", NoticeKind.INTERRUPTION, 1, 2, "a"),))

    for cluster in (gone, condemned, interrupted):
        assert "minimum size" in hold(snapshot(*THREE, cpu=0.1), cluster)


def test_nodes_that_take_no_pods_are_no_floor() -> None:
    for third in (worker("i-3", ready=False), worker("i-3", joining=True), booting("i-3")):
        assert "minimum size" in hold(snapshot(*TWO, third, cpu=0.1))


def test_it_scales_up_for_pods_that_have_waited_long_enough_and_by_no_more_than_a_batch() -> None:
    assert scaled_up(snapshot(*TWO, pending=1)) == 1
    assert scaled_up(snapshot(*TWO, pending=9)) == SETTINGS.max_batch_up
    assert "s of 3m" in hold(snapshot(*TWO, pending=9), replace(CALM, pending_since_s=int(NOW_S) - 179))


def test_pods_that_no_template_could_run_are_no_reason_to_scale_up() -> None:
    unsatisfiable = snapshot(*TWO, cpu=0.1, unsatisfiable=("shop/giant: needs 64 CPUs",))

    assert "minimum size" in hold(unsatisfiable)


def test_what_is_on_its_way_is_not_asked_for_again() -> None:
    assert "on their way" in hold(snapshot(*TWO, booting("i-9"), pending=1))
    unlisted = replace(CALM, recent=(Recent("i-9", "default", "a", int(NOW_S)),))
    assert "on their way" in hold(snapshot(*TWO, pending=1), unlisted)


def test_a_broken_node_is_not_on_its_way() -> None:
    assert scaled_up(snapshot(*TWO, worker("i-3", ready=False), pending=1)) == 1


def test_it_scales_up_by_one_when_busy_and_exactly_the_threshold_is_not_busy() -> None:
    assert scaled_up(snapshot(*TWO, cpu=0.71)) == 1
    assert isinstance(decided(snapshot(*TWO, cpu=0.70)), Hold)
    assert "on its way" in hold(snapshot(*TWO, booting("i-9"), cpu=0.9))


def test_a_scale_up_cools_down_after_a_scale_up_and_not_after_a_scale_down() -> None:
    recent = int(NOW_S) - 10
    assert "cooling down" in hold(snapshot(*TWO, pending=1), replace(CALM, last_up_s=recent))
    assert scaled_up(snapshot(*TWO, pending=1), replace(CALM, last_scale_s=recent)) == 1


def test_it_never_scales_up_beyond_its_greatest_size() -> None:
    assert scaled_up(snapshot(*TWO, pending=9), max_workers=3, max_batch_up=9) == 1
    assert "maximum size" in hold(snapshot(*TWO, pending=9), max_workers=2)
    lagging = replace(CALM, recent=(Recent("i-9", "default", "a", int(NOW_S)),))
    assert "maximum size" in hold(snapshot(*TWO, pending=9), lagging, max_workers=3)
    assert "the fleet has its maximum size" in hold(snapshot(*TWO, pending=9), max_workers=2)
    pools = (Pool(max_workers=2),)
    assert "pool default has its maximum size" in hold(snapshot(*TWO, pending=9), pools=pools)


def test_the_interrupted_do_not_count_toward_the_greatest_size() -> None:
    interrupted = replace(CALM, interrupted=(Interrupted("i-3", NoticeKind.INTERRUPTION, 1, 2, "a"),))

    assert scaled_up(snapshot(*THREE, pending=9), interrupted, max_workers=3) == 1


@pytest.mark.parametrize("seen", [snapshot(worker("i-1")), snapshot(worker("i-1"), cpu=None)])
def test_below_the_floor_it_scales_up_without_any_cool_down_or_metrics(seen: Snapshot) -> None:
    hot = replace(CALM, last_up_s=int(NOW_S), last_scale_s=int(NOW_S), paused_until_s=int(NOW_S) + 99)

    assert scaled_up(seen, hot) == 1


def test_even_the_floor_waits_for_the_back_off_after_failures() -> None:
    assert "backing off" in hold(
        snapshot(), replace(CALM, pool_failures=(PoolFailure("default", 1, int(NOW_S) + 1),))
    )


def test_a_pool_below_its_own_floor_scales_up() -> None:
    pools = (Pool(), Pool(name="gpu", min_workers=1))

    decision = decided(snapshot(*THREE), pools=pools)

    assert isinstance(decision, AddWorkers)
    assert decision.needs == (Need("gpu", 1, "below the pool's floor", purpose=Purpose.REPAIR),)


def test_timestamps_from_the_future_are_timestamps_from_now() -> None:
    future = int(NOW_S) + 86_400
    cluster = replace(CALM, last_scale_s=future, last_up_s=future, idle_since_s=future)
    seen = snapshot(*THREE, cpu=0.1)

    write = book(cluster, seen, Hold(Reason.AT_MINIMUM, "x"), SETTINGS, NOW_S)

    assert write is not None
    assert write.value.last_scale_s == write.value.last_up_s == write.value.idle_since_s == int(NOW_S)


def test_a_hold_is_written_once_and_again_only_when_something_changes() -> None:
    seen: tuple[Worker, ...] = TWO
    first = book(Cluster(), snapshot(*seen), Hold(Reason.AT_MINIMUM, "because"), SETTINGS, NOW_S)
    assert first is not None
    assert first.events[0].reason == "because"

    assert (
        book(first.value, snapshot(*seen), Hold(Reason.AT_MINIMUM, "because"), SETTINGS, NOW_S + 60) is None
    )
    assert (
        book(first.value, snapshot(*seen), Hold(Reason.PAUSED, "another reason"), SETTINGS, NOW_S + 60)
        is not None
    )
    assert (
        book(first.value, snapshot(*THREE), Hold(Reason.AT_MINIMUM, "because"), SETTINGS, NOW_S + 60)
        is not None
    )


def test_pods_that_were_only_just_seen_have_not_waited_yet() -> None:
    """0 means "not": without a timestamp, the time that pods waited is no time."""
    undated = replace(CALM, pending_since_s=0)
    seen = snapshot(*TWO, pending=1)

    assert "s of 3m" in hold(seen, undated)
    write = book(undated, seen, Hold(Reason.AT_MINIMUM, "x"), SETTINGS, NOW_S)
    assert write is not None
    assert write.value.pending_since_s == int(NOW_S)


def test_nothing_begins_to_leave_before_the_replacement_of_the_interrupted_is_decided() -> None:
    taken = Interrupted("i-4", NoticeKind.INTERRUPTION, int(NOW_S), int(NOW_S) + 120)

    assert "takes others back" in hold(snapshot(*THREE, cpu=0.1), replace(CALM, interrupted=(taken,)))
    answered = replace(CALM, interrupted=(replace(taken, replacement="unneeded"),))
    assert isinstance(decided(snapshot(*THREE, cpu=0.1), answered), RemoveWorkers)
