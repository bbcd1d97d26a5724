"""When it grows, when it shrinks, and why it holds."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler.decide import Decision, Grow, Hold, Shrink, book, decide
from holdfast.autoscaler.ports import Load
from holdfast.autoscaler.record import Cluster, Condemned, Doomed, Recent, Tombstone
from holdfast.autoscaler.settings import Pool
from holdfast.autoscaler.sight import Need, Sight, Worker
from holdfast.cloud import NoticeKind
from tests.unit.sights import NOW_S, SETTINGS, booting, sight, worker

TWO = (worker("i-1"), worker("i-2", "b"))
THREE = (*TWO, worker("i-3"))
LONG_AGO = int(NOW_S) - 5_000
CALM = Cluster(pending_since_s=LONG_AGO, idle_since_s=LONG_AGO, last_scale_s=LONG_AGO, last_up_s=LONG_AGO)


def decided(seen: Sight, cluster: Cluster = CALM, **settings: Any) -> Decision:
    return decide(cluster, seen, replace(SETTINGS, **settings), NOW_S)


def hold(seen: Sight, cluster: Cluster = CALM, **settings: Any) -> str:
    decision = decided(seen, cluster, **settings)
    assert isinstance(decision, Hold), decision
    return decision.why


def grown(seen: Sight, cluster: Cluster = CALM, **settings: Any) -> int:
    decision = decided(seen, cluster, **settings)
    assert isinstance(decision, Grow), decision
    return sum(need.count for need in decision.needs)


def test_idle_long_enough_it_shrinks() -> None:
    assert isinstance(decided(sight(*THREE, cpu=0.1)), Shrink)


@pytest.mark.parametrize(
    ("seen", "cluster", "why"),
    [
        (sight(*THREE, cpu=0.3), CALM, "neither busy nor idle"),
        (sight(*THREE, cpu=None), CALM, "not known: no data"),
        (sight(*THREE, cpu=0.1, load=Load(0.1, peak=0.6)), CALM, "neither busy nor idle"),
        (sight(*THREE, cpu=0.1), replace(CALM, idle_since_s=int(NOW_S) - 599), "less than 600 s"),
        (sight(*THREE, cpu=0.1), replace(CALM, idle_since_s=0), "less than 600 s"),
        (sight(*THREE, cpu=0.1), replace(CALM, last_scale_s=int(NOW_S) - 599), "cooling down"),
        (sight(*TWO, cpu=0.1), CALM, "least size"),
        (sight(*THREE, cpu=0.1, troubles=("half of them are not ready",)), CALM, "half of them"),
        (sight(*THREE, cpu=0.1), replace(CALM, paused_until_s=int(NOW_S) + 9, paused_why="lunch"), "lunch"),
    ],
    ids=["cpu", "no data", "peak", "idle time", "not idle", "cool-down", "floor", "trouble", "paused"],
)
def test_each_precondition_of_a_shrink_holds_it(seen: Sight, cluster: Cluster, why: str) -> None:
    assert why in hold(seen, cluster)


def test_pending_pods_are_never_idle() -> None:
    assert grown(sight(*THREE, cpu=0.1, pending=1)) == 1


def test_workers_that_only_a_listing_remembers_do_not_count_for_a_shrink() -> None:
    gone = replace(CALM, gone=(Tombstone("i-3", int(NOW_S)),))
    condemned = replace(CALM, condemned=(Condemned("i-3", "a", "scale-down", 1),))
    doomed = replace(CALM, doomed=(Doomed("i-3", NoticeKind.INTERRUPTION, 1, 2, "a"),))

    for cluster in (gone, condemned, doomed):
        assert "least size" in hold(sight(*THREE, cpu=0.1), cluster)


def test_nodes_that_take_no_pods_are_no_floor() -> None:
    for third in (worker("i-3", ready=False), worker("i-3", joining=True), booting("i-3")):
        assert "least size" in hold(sight(*TWO, third, cpu=0.1))


def test_it_grows_for_pods_that_have_waited_long_enough_and_by_no_more_than_a_batch() -> None:
    assert grown(sight(*TWO, pending=1)) == 1
    assert grown(sight(*TWO, pending=9)) == SETTINGS.max_batch_up
    assert "less than 180 s" in hold(sight(*TWO, pending=9), replace(CALM, pending_since_s=int(NOW_S) - 179))


def test_pods_that_no_template_could_run_are_no_reason_to_grow() -> None:
    hopeless = sight(*TWO, cpu=0.1, hopeless=("shop/giant: needs 64 CPUs",))

    assert "least size" in hold(hopeless)


def test_what_is_on_its_way_is_not_asked_for_again() -> None:
    assert "on its way" in hold(sight(*TWO, booting("i-9"), pending=1))
    unlisted = replace(CALM, recent=(Recent("i-9", "default", "a", int(NOW_S)),))
    assert "on its way" in hold(sight(*TWO, pending=1), unlisted)


def test_a_broken_node_is_not_on_its_way() -> None:
    assert grown(sight(*TWO, worker("i-3", ready=False), pending=1)) == 1


def test_it_grows_by_one_when_busy_and_exactly_the_threshold_is_not_busy() -> None:
    assert grown(sight(*TWO, cpu=0.71)) == 1
    assert isinstance(decided(sight(*TWO, cpu=0.70)), Hold)
    assert "on its way" in hold(sight(*TWO, booting("i-9"), cpu=0.9))


def test_growth_cools_down_after_growth_and_not_after_a_shrink() -> None:
    recent = int(NOW_S) - 10
    assert "cooling down" in hold(sight(*TWO, pending=1), replace(CALM, last_up_s=recent))
    assert grown(sight(*TWO, pending=1), replace(CALM, last_scale_s=recent)) == 1


def test_it_never_grows_beyond_its_greatest_size() -> None:
    assert grown(sight(*TWO, pending=9), max_workers=3, max_batch_up=9) == 1
    assert "greatest size" in hold(sight(*TWO, pending=9), max_workers=2)
    lagging = replace(CALM, recent=(Recent("i-9", "default", "a", int(NOW_S)),))
    assert "greatest size" in hold(sight(*TWO, pending=9), lagging, max_workers=3)
    pools = (Pool(max_workers=2),)
    assert "greatest size" in hold(sight(*TWO, pending=9), pools=pools)


def test_the_doomed_do_not_count_toward_the_greatest_size() -> None:
    doomed = replace(CALM, doomed=(Doomed("i-3", NoticeKind.INTERRUPTION, 1, 2, "a"),))

    assert grown(sight(*THREE, pending=9), doomed, max_workers=3) == 1


@pytest.mark.parametrize("seen", [sight(worker("i-1")), sight(worker("i-1"), cpu=None)])
def test_below_the_floor_it_grows_without_any_cool_down_or_metrics(seen: Sight) -> None:
    hot = replace(CALM, last_up_s=int(NOW_S), last_scale_s=int(NOW_S), paused_until_s=int(NOW_S) + 99)

    assert grown(seen, hot) == 1


def test_even_the_floor_waits_for_the_back_off_after_failures() -> None:
    assert "backing off" in hold(sight(), replace(CALM, back_off_until_s=int(NOW_S) + 1))


def test_a_pool_below_its_own_floor_grows() -> None:
    pools = (Pool(), Pool(name="gpu", min_workers=1))

    decision = decided(sight(*THREE), pools=pools)

    assert isinstance(decision, Grow)
    assert decision.needs == (Need("gpu", 1, "below the pool's floor"),)


def test_stamps_from_the_future_are_stamps_from_now() -> None:
    future = int(NOW_S) + 86_400
    cluster = replace(CALM, last_scale_s=future, last_up_s=future, idle_since_s=future)
    seen = sight(*THREE, cpu=0.1)

    write = book(cluster, seen, Hold("x"), SETTINGS, NOW_S)

    assert write is not None
    assert write.value.last_scale_s == write.value.last_up_s == write.value.idle_since_s == int(NOW_S)


def test_a_hold_is_written_once_and_again_only_when_something_changes() -> None:
    seen: tuple[Worker, ...] = TWO
    first = book(Cluster(), sight(*seen), Hold("because"), SETTINGS, NOW_S)
    assert first is not None
    assert first.events[0].reason == "because"

    assert book(first.value, sight(*seen), Hold("because"), SETTINGS, NOW_S + 60) is None
    assert book(first.value, sight(*seen), Hold("another reason"), SETTINGS, NOW_S + 60) is not None
    assert book(first.value, sight(*THREE), Hold("because"), SETTINGS, NOW_S + 60) is not None


def test_pods_that_were_only_just_seen_have_not_waited_yet() -> None:
    """0 means "not": without a stamp, the time that pods waited is no time."""
    unstamped = replace(CALM, pending_since_s=0)
    seen = sight(*TWO, pending=1)

    assert "less than 180 s" in hold(seen, unstamped)
    write = book(unstamped, seen, Hold("x"), SETTINGS, NOW_S)
    assert write is not None
    assert write.value.pending_since_s == int(NOW_S)


def test_nothing_begins_to_leave_before_it_is_decided_who_replaces_the_doomed() -> None:
    doom = Doomed("i-4", NoticeKind.INTERRUPTION, int(NOW_S), int(NOW_S) + 120)

    assert "takes workers back" in hold(sight(*THREE, cpu=0.1), replace(CALM, doomed=(doom,)))
    answered = replace(CALM, doomed=(replace(doom, replacement="unneeded"),))
    assert isinstance(decided(sight(*THREE, cpu=0.1), answered), Shrink)
