"""Removing nodes, rule by rule."""

from dataclasses import replace

import pytest

from holdfast.autoscaler.ports import Drain, Drained, Terminate, Uncordon
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
from holdfast.autoscaler.scale_down.action import begin, give_up, proceed, settle, tidy_up
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.workflow import workflow
from holdfast.kernel import Busy, Conflict, Do, Happened, Outcome, Unknown, Wait, Write
from tests.autoscaler.unit.snapshots import snapshot, worker

SETTINGS = Settings(min_workers=2, max_batch_down=2, pending_up_s=0)
NOW = 10_000.0


def seen(zones: str = "aaaa", *, pending: int = 0, cordon: str = "") -> Snapshot:
    """Idle workers, the first the oldest, which a cordon of this action may be on."""
    cordons = (frozenset({cordon} if cordon and n == 1 else ()) for n in range(1, len(zones) + 1))
    return snapshot(
        *(
            worker(f"i-{n}", zone, launched_s=n, cordons=owners, cordoned=bool(owners))
            for n, (zone, owners) in enumerate(zip(zones, cordons, strict=True), 1)
        ),
        pending=pending,
        cpu=0.1,
    )


def step(cluster: Cluster, look: Snapshot) -> object:
    """What comes next in the open action."""
    assert cluster.scale_down is not None
    return proceed(cluster, cluster.scale_down, look, SETTINGS, NOW)


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
    plan = written(begin(Cluster(), seen(), SETTINGS, NOW))

    assert plan.value.scale_down == ScaleDown("10000-req-1", 10_000, (Target("i-1"), Target("i-2")))
    assert plan.events[0].kind == "beginScaleDown"


def test_no_more_leave_than_the_floor_allows() -> None:
    assert begin(Cluster(), seen("aa"), SETTINGS, NOW) is None
    three = written(begin(Cluster(), seen("aaa"), SETTINGS, NOW)).value.scale_down
    assert three is not None
    assert len(three.targets) == 1


IDLE = Cluster(idle_since_s=1, worker_count=4)


def test_it_cools_down_after_the_last_action() -> None:
    flow = workflow(SETTINGS)

    cooling = written(flow.step(replace(IDLE, last_scale_s=9_401), seen(), NOW))
    assert cooling.value.scale_down is None
    assert cooling.value.hold_reason == "idle: cooling down after the last action"
    begun = written(flow.step(replace(IDLE, last_scale_s=9_400), seen(), NOW))
    assert begun.value.scale_down is not None


def test_nothing_scales_down_while_the_fleet_scales_up() -> None:
    scaling_up = replace(IDLE, scale_up=ScaleUp("9900-req-0", 9_900, 2, foreign_ids=("i-9",)))

    assert isinstance(workflow(SETTINGS).step(scaling_up, seen(), NOW), Wait)


def test_a_node_that_was_kept_is_left_alone_for_a_while() -> None:
    skipped = Cluster(skipped=(Skip("i-1", "a pod", 10_001), Skip("i-2", "a pod", 9_999)))

    plan = written(begin(skipped, seen(), SETTINGS, NOW)).value.scale_down

    assert plan is not None
    assert [target.instance_id for target in plan.targets] == ["i-2", "i-3"]


def test_removed_nodes_do_not_count_however_long_they_are_listed() -> None:
    gone = Cluster(gone=(Tombstone("i-1", 9_990), Tombstone("i-2", 9_990)))

    assert begin(gone, seen("aaaa"), SETTINGS, NOW) is None


def test_all_targets_are_drained_side_by_side() -> None:
    ahead = step(action(Status.PLANNED, Status.PLANNED), seen())

    assert ahead == Do((Drain("i-1", "9990-req-0"), Drain("i-2", "9990-req-0")))


def test_a_condemnation_keeps_the_floor_target_by_target() -> None:
    condemned = written(step(action(Status.DRAINED, Status.DRAINED), seen("aaa"))).value

    assert statuses(condemned) == [Status.CONDEMNED, Status.SKIPPED], "only one of the two may leave three"
    assert condemned.skipped[0].instance_id == "i-2"


def test_load_that_came_back_keeps_the_node() -> None:
    """Even one that is drained already: what was planned when there was nothing to do is not carried out."""
    waiting = replace(action(Status.DRAINED), pending_since_s=9_000, idle_since_s=0)

    kept = written(workflow(SETTINGS).step(waiting, seen("aaaa", pending=2), NOW))

    assert statuses(kept.value) == [Status.SKIPPED]
    assert kept.events[0].reason == "more workers are wanted: pods are pending"


def test_the_last_node_of_its_zone_is_not_condemned() -> None:
    kept = written(step(action(Status.DRAINED), seen("bccc")))

    assert statuses(kept.value) == [Status.SKIPPED]
    assert kept.events[0].reason == "the last one in zone b"


def test_condemned_nodes_are_terminated_and_then_remembered() -> None:
    cluster = action(Status.CONDEMNED)
    assert step(cluster, seen()) == Do((Terminate("i-1"),))

    noted = settle(cluster, Terminate("i-1"), Happened(None), SETTINGS, NOW)

    assert noted is not None
    assert statuses(noted.value) == [Status.GONE]
    assert noted.value.gone == (Tombstone("i-1", 10_000),)


def test_an_action_without_anything_open_is_completed_and_cools_down() -> None:
    done = written(step(action(Status.GONE, Status.SKIPPED), seen()))

    assert (done.value.scale_down, done.value.last_scale_s) == (None, 10_000)
    assert done.events[0].kind == "completeScaleDown"


def test_an_action_in_which_no_node_left_has_failed_and_does_not_cool_down() -> None:
    failed = written(step(action(Status.SKIPPED), seen()))

    assert failed.value.last_scale_s == 0
    assert failed.events[0].kind == "failScaleDown"


def test_a_stuck_action_gives_up_what_is_not_condemned_and_finishes_what_is() -> None:
    stuck = action(Status.CONDEMNED, Status.PLANNED, started_s=9_000)

    given_up = written(step(stuck, seen()))

    assert statuses(given_up.value) == [Status.CONDEMNED, Status.SKIPPED]
    assert step(given_up.value, seen()) == Do((Terminate("i-1"),))


def test_there_is_nothing_to_give_up_once_everything_is_condemned() -> None:
    assert give_up(action(Status.CONDEMNED), "too late", SETTINGS, NOW) is None
    assert give_up(Cluster(), "too late", SETTINGS, NOW) is None


def test_a_blocked_drain_keeps_the_node_and_remembers_why() -> None:
    noted = settle(
        action(Status.PLANNED), Drain("i-1", "9990-req-0"), Happened(Drained("a pod")), SETTINGS, NOW
    )

    assert noted is not None
    assert statuses(noted.value) == [Status.SKIPPED]
    assert noted.value.skipped == (Skip("i-1", "a pod", 10_900),)


@pytest.mark.parametrize("outcome", [Busy("throttled"), Unknown("no answer"), Conflict("stale")])
def test_what_did_not_certainly_happen_is_not_noted(outcome: Outcome) -> None:
    assert settle(action(Status.PLANNED), Drain("i-1", "9990-req-0"), outcome, SETTINGS, NOW) is None
    assert settle(action(Status.CONDEMNED), Terminate("i-1"), outcome, SETTINGS, NOW) is None


def test_late_news_of_another_action_change_nothing() -> None:
    assert (
        settle(action(Status.PLANNED), Drain("i-1", "an-older-one"), Happened(Drained()), SETTINGS, NOW)
        is None
    )
    assert settle(Cluster(), Terminate("i-1"), Happened(None), SETTINGS, NOW) is None


def test_a_stray_cordon_is_written_down_then_lifted_then_forgotten() -> None:
    stray = Cordon("i-1", "an-older-one")
    found = written(tidy_up(Cluster(), seen(cordon="an-older-one"), NOW)).value
    assert found.strays == (stray,)

    assert tidy_up(found, seen(), NOW) == Do((Uncordon("i-1", "an-older-one"),))

    lifted = settle(found, Uncordon("i-1", "an-older-one"), Happened(None), SETTINGS, NOW)
    assert lifted is not None
    assert lifted.value == replace(found, strays=())
