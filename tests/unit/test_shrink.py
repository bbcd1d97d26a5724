"""Removing nodes, rule by rule."""

from dataclasses import replace

import pytest

from holdfast.autoscaler.place import Node
from holdfast.autoscaler.ports import Drain, Drained, Seen, Terminate, Uncordon
from holdfast.autoscaler.record import (
    Cluster,
    Condemned,
    Cordon,
    ScaleDown,
    ScaleUp,
    Skip,
    Status,
    Target,
    Tombstone,
)
from holdfast.autoscaler.shrink import Policy, give_up, settle, step
from holdfast.kernel import Busy, Conflict, Do, Done, Happened, Outcome, Unknown, Wait, Write

POLICY = Policy(min_workers=2, max_batch_down=2)
NOW = 10_000.0


def seen(zones: str = "aaaa", *, wanted: int = 0, cordons: frozenset[Cordon] = frozenset()) -> Seen:
    nodes = tuple(Node(f"i-{n}", zone, n) for n, zone in enumerate(zones, 1))
    return Seen(me="req-1", wanted=wanted, nodes=nodes, cordons=cordons)


def action(*statuses: Status, started_s: int = 9_990) -> Cluster:
    targets = tuple(Target(f"i-{n}", status) for n, status in enumerate(statuses, 1))
    down = ScaleDown("9990-req-0", started_s, targets)
    rows = (Condemned(i, down.action_id, "scale-down", started_s) for i in down.having(Status.CONDEMNED))
    return Cluster(scale_down=down, condemned=tuple(rows))


def written(ahead: object) -> Write[Cluster]:
    assert isinstance(ahead, Write)
    return ahead


def statuses(cluster: Cluster) -> list[Status]:
    assert cluster.scale_down is not None
    return [target.status for target in cluster.scale_down.targets]


def test_a_plan_is_written_before_anything_is_touched() -> None:
    plan = written(step(Cluster(), seen(), NOW, POLICY))

    assert plan.value.scale_down == ScaleDown("10000-req-1", 10_000, (Target("i-1"), Target("i-2")))
    assert plan.events[0].kind == "beginScaleDown"


def test_no_more_leave_than_the_load_or_the_floor_allow() -> None:
    assert step(Cluster(), seen("aa"), NOW, POLICY) == Done()
    assert step(Cluster(), seen("aaaa", wanted=4), NOW, POLICY) == Done()
    three = written(step(Cluster(), seen("aaa"), NOW, POLICY)).value.scale_down
    assert three is not None
    assert len(three.targets) == 1


def test_it_cools_down_after_the_last_action() -> None:
    ahead = step(Cluster(last_scale_s=9_900), seen(), NOW, POLICY)

    assert ahead == Wait(10_500, "cooling down after the last action")
    assert isinstance(step(Cluster(last_scale_s=9_400), seen(), NOW, POLICY), Write)


def test_nothing_shrinks_while_the_fleet_grows() -> None:
    growing = Cluster(scale_up=ScaleUp("9000-req-0", 9_000, 2))

    assert isinstance(step(growing, seen(), NOW, POLICY), Wait)


def test_a_node_that_was_kept_is_left_alone_for_a_while() -> None:
    skipped = Cluster(skipped=(Skip("i-1", "a pod", 10_001), Skip("i-2", "a pod", 9_999)))

    plan = written(step(skipped, seen(), NOW, POLICY)).value.scale_down

    assert plan is not None
    assert [target.instance_id for target in plan.targets] == ["i-2", "i-3"]


def test_removed_nodes_do_not_count_however_long_they_are_listed() -> None:
    gone = Cluster(gone=(Tombstone("i-1", 9_990), Tombstone("i-2", 9_990)))

    assert step(gone, seen("aaaa"), NOW, POLICY) == Done()


def test_all_targets_are_drained_side_by_side() -> None:
    ahead = step(action(Status.PLANNED, Status.PLANNED), seen(), NOW, POLICY)

    assert ahead == Do((Drain("i-1", "9990-req-0"), Drain("i-2", "9990-req-0")))


def test_a_condemnation_keeps_the_floor_target_by_target() -> None:
    condemned = written(step(action(Status.DRAINED, Status.DRAINED), seen("aaa"), NOW, POLICY)).value

    assert statuses(condemned) == [Status.CONDEMNED, Status.KEPT], "only one of the two may leave three"
    assert condemned.skipped[0].instance_id == "i-2"


def test_load_that_came_back_keeps_the_node() -> None:
    kept = written(step(action(Status.DRAINED), seen("aaaa", wanted=4), NOW, POLICY))

    assert statuses(kept.value) == [Status.KEPT]
    assert kept.events[0].reason == "3 would be left of 4 needed"


def test_the_last_node_of_its_zone_is_not_condemned() -> None:
    kept = written(step(action(Status.DRAINED), seen("bccc"), NOW, POLICY))

    assert statuses(kept.value) == [Status.KEPT]
    assert kept.events[0].reason == "the last one in zone b"


def test_condemned_nodes_are_terminated_and_then_remembered() -> None:
    cluster = action(Status.CONDEMNED)
    assert step(cluster, seen(), NOW, POLICY) == Do((Terminate("i-1"),))

    noted = settle(cluster, Terminate("i-1"), Happened(None), NOW, POLICY)

    assert noted is not None
    assert statuses(noted.value) == [Status.GONE]
    assert noted.value.gone == (Tombstone("i-1", 10_000),)


def test_an_action_without_anything_open_is_completed_and_cools_down() -> None:
    done = written(step(action(Status.GONE, Status.KEPT), seen(), NOW, POLICY))

    assert (done.value.scale_down, done.value.last_scale_s) == (None, 10_000)
    assert done.events[0].kind == "completeScaleDown"


def test_an_action_in_which_nobody_left_has_failed_and_does_not_cool_down() -> None:
    failed = written(step(action(Status.KEPT), seen(), NOW, POLICY))

    assert failed.value.last_scale_s == 0
    assert failed.events[0].kind == "failScaleDown"


def test_a_stuck_action_gives_up_what_is_not_condemned_and_finishes_what_is() -> None:
    stuck = action(Status.CONDEMNED, Status.PLANNED, started_s=9_000)

    given_up = written(step(stuck, seen(), NOW, POLICY))

    assert statuses(given_up.value) == [Status.CONDEMNED, Status.KEPT]
    assert step(given_up.value, seen(), NOW, POLICY) == Do((Terminate("i-1"),))


def test_there_is_nothing_to_give_up_once_everything_is_condemned() -> None:
    assert give_up(action(Status.CONDEMNED), "an operator", NOW, POLICY) is None
    assert give_up(Cluster(), "an operator", NOW, POLICY) is None


def test_a_blocked_drain_keeps_the_node_and_remembers_why() -> None:
    noted = settle(
        action(Status.PLANNED), Drain("i-1", "9990-req-0"), Happened(Drained("a pod")), NOW, POLICY
    )

    assert noted is not None
    assert statuses(noted.value) == [Status.KEPT]
    assert noted.value.skipped == (Skip("i-1", "a pod", 10_900),)


@pytest.mark.parametrize("outcome", [Busy("throttled"), Unknown("no answer"), Conflict("stale")])
def test_what_did_not_certainly_happen_is_not_noted(outcome: Outcome) -> None:
    assert settle(action(Status.PLANNED), Drain("i-1", "9990-req-0"), outcome, NOW, POLICY) is None
    assert settle(action(Status.CONDEMNED), Terminate("i-1"), outcome, NOW, POLICY) is None


def test_late_news_of_another_action_change_nothing() -> None:
    assert (
        settle(action(Status.PLANNED), Drain("i-1", "an-older-one"), Happened(Drained()), NOW, POLICY) is None
    )
    assert settle(Cluster(), Terminate("i-1"), Happened(None), NOW, POLICY) is None


def test_a_stray_cordon_is_written_down_then_lifted_then_forgotten() -> None:
    stray = Cordon("i-1", "an-older-one")
    found = written(step(Cluster(), seen(wanted=4, cordons=frozenset({stray})), NOW, POLICY)).value
    assert found.strays == (stray,)

    assert step(found, seen(wanted=4), NOW, POLICY) == Do((Uncordon("i-1", "an-older-one"),))

    lifted = settle(found, Uncordon("i-1", "an-older-one"), Happened(None), NOW, POLICY)
    assert lifted is not None
    assert lifted.value == replace(found, strays=())
