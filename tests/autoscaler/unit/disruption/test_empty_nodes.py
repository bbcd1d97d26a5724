"""Nodes that stand empty leave one by one, however busy the fleet is on average."""

from dataclasses import replace

import pytest

from holdfast.autoscaler.decide import Decision, Hold, RemoveWorkers
from holdfast.autoscaler.disruption.windows import window
from holdfast.autoscaler.ports import Drain
from holdfast.autoscaler.reasons import Reason
from holdfast.autoscaler.record import Cluster, ScaleDown, Target
from holdfast.autoscaler.report.by_choice import consolidation
from holdfast.autoscaler.settings import Pool
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.snapshot.build import build
from holdfast.autoscaler.workflow import workflow
from holdfast.cloud import Market, Offering, Prices
from holdfast.cloud.kubernetes import DO_NOT_DISRUPT
from holdfast.kernel import Do, Done, Write
from tests.autoscaler.unit.disruption.consolidating import (
    CALM,
    CONSOLIDATING,
    LONG_AGO,
    THREE,
    concluded,
    empty,
    stepped,
    these,
    with_disruption,
)
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, snapshot, worker
from tests.workloads import daemon, listings, node, pod

IDLE = replace(CALM, underused=empty("i-3"))


def seen(*instance_ids: str, **said: object) -> Snapshot:
    return snapshot(*THREE, cpu=0.4, is_empty=these(*instance_ids), **said)  # type: ignore[arg-type]


def test_that_a_node_is_empty_is_noted_and_what_is_in_use_again_is_forgotten() -> None:
    noted = stepped(CALM, seen("i-3"))
    assert [(e.kind, e.about) for e in noted.events] == [("nodeEmpty", "i-3")]
    assert noted.value.underused == empty("i-3", since_s=int(NOW_S))
    over = stepped(IDLE, seen())
    assert [(e.kind, e.about) for e in over.events] == [("nodeInUse", "i-3")]
    assert over.value.underused == ()


def test_nothing_is_noted_or_done_where_consolidation_is_off() -> None:
    off = workflow(SETTINGS).step(replace(CALM, worker_count=3), seen("i-3"), NOW_S)
    assert isinstance(off, Write)
    assert [e.kind for e in off.events] == ["decision"]
    assert isinstance(concluded(IDLE, seen("i-3"), SETTINGS), Hold)
    assert stepped(IDLE, seen("i-3"), SETTINGS).value.underused == (), "what was noted before is forgotten"


def test_an_empty_node_leaves_alone_after_its_time_and_says_what_that_saves() -> None:
    prices = Prices({Offering(zone, Market.SPOT, "m5.large"): 0.05 for zone in "ab"})
    both = replace(CALM, underused=empty("i-1", "i-3"))
    write = stepped(both, seen("i-1", "i-3", prices=prices))

    assert write.value.scale_down == ScaleDown(
        write.value.scale_down.action_id, int(NOW_S), (Target("i-1"),), "NodeEmpty"
    )
    assert [e.kind for e in write.events] == ["decision", "beginScaleDown"]
    assert write.events[0].code == Reason.NODE_EMPTY
    assert write.events[1].numbers["savesUsdPerHour"] == 0.05


def test_what_the_open_action_removes_is_not_what_consolidation_removes_next() -> None:
    both = replace(CALM, underused=empty("i-1", "i-3"))
    open_one = replace(both, scale_down=ScaleDown("9-req", int(NOW_S) - 60, (Target("i-1"),), "NodeEmpty"))
    alone = replace(open_one, underused=empty("i-1"))

    said = [consolidation(each, seen("i-1", "i-3"), CONSOLIDATING, NOW_S) for each in (open_one, alone)]

    assert said == ["waits for the open action; then i-3 leaves: empty for 30m", "waits for the open action"]


@pytest.mark.parametrize(
    ("cluster", "look"),
    [
        (replace(CALM, underused=empty("i-3", since_s=int(NOW_S) - 299)), seen("i-3")),
        (replace(IDLE, last_scale_s=int(NOW_S) - 599), seen("i-3")),
        (IDLE, seen("i-3", troubles=("half of them are not ready",))),
        (IDLE, seen("i-3", pending=1)),
        (IDLE, seen("i-3", must_stay=lambda i: "the last one")),
        (IDLE, replace(seen("i-3"), workers=THREE[1:])),
        (IDLE, replace(seen("i-3"), load=snapshot(cpu=0.5).load)),
        (IDLE, replace(seen("i-3"), load=snapshot(cpu=None).load)),
        (replace(IDLE, paused_until_s=int(NOW_S) + 9), seen("i-3")),
    ],
    ids=(
        "too soon",
        "cool-down",
        "trouble",
        "pods wait",
        "must stay",
        "floor",
        "the others would be busy",
        "load unknown",
        "paused",
    ),
)
def test_the_rules_of_scaling_down_keep_it(cluster: Cluster, look: Snapshot) -> None:
    decision: Decision = concluded(cluster, look)
    assert isinstance(decision, Hold), decision
    assert decision.code is not Reason.NO_WORKER_MAY_LEAVE, (
        "why the fleet does not scale down is told as before"
    )


def test_pods_that_wait_for_one_pool_keep_no_empty_node_of_another() -> None:
    pools = (*SETTINGS.pools, Pool(name="gpu"))
    settings = replace(CONSOLIDATING, pools=pools)
    look = replace(seen("i-3", pending=1), pending_pools=frozenset({"gpu"}))
    assert isinstance(concluded(IDLE, look, settings), RemoveWorkers)


def test_where_the_idle_pools_may_give_none_an_empty_node_of_another_pool_leaves() -> None:
    settings = replace(CONSOLIDATING, pools=(*SETTINGS.pools, Pool(name="gpu")))
    fleet = (*THREE, worker("i-9", pool="gpu"))
    look = snapshot(
        *fleet,
        cpu=0.1,
        is_empty=these("i-9"),
        pending=1,
        pending_pools=frozenset({"none"}),
        must_stay=lambda i: "" if i == "i-9" else "a pod",
        needs=lambda coming: (),
    )
    cluster = replace(CALM, underused=empty("i-9"), idle_since_s=LONG_AGO, pending_since_s=LONG_AGO)
    decision = concluded(cluster, look, settings)
    assert isinstance(decision, RemoveWorkers)
    assert decision.workers in (frozenset({"i-9"}), frozenset())


def test_a_pod_that_comes_before_the_cordon_keeps_the_node() -> None:
    down = ScaleDown("9-req-1", int(NOW_S) - 9, (Target("i-3"),), "NodeEmpty")
    cluster = replace(CALM, scale_down=down, worker_count=3)

    again = stepped(cluster, seen())
    assert [(e.kind, e.reason) for e in again.events] == [("drainSkipped", "pods run there again")]
    ahead = stepped(replace(cluster, underused=empty("i-3")), seen("i-3"))
    assert ahead == Do((Drain("i-3", "9-req-1"),))
    cordoned = replace(THREE[2], cordons=frozenset({"9-req-1"}), cordoned=True)
    going = stepped(cluster, replace(seen(), workers=(*THREE[:2], cordoned)))
    assert going == Do((Drain("i-3", "9-req-1"),)), "what is cordoned takes no more"


def test_outside_its_windows_the_fleet_does_not_scale_down_and_empty_nodes_leave_all_the_same() -> None:
    settings = with_disruption(windows=(window("0 0 1 1 * for 1m"),))
    idle = replace(CALM, idle_since_s=LONG_AGO)
    held = concluded(idle, snapshot(*THREE, cpu=0.1), settings)
    assert isinstance(held, Hold)
    assert held.code is Reason.OUTSIDE_WINDOW
    assert isinstance(concluded(IDLE, seen("i-3"), settings), RemoveWorkers)


def test_pods_of_daemon_sets_do_not_count_and_annotations_keep_pods_and_nodes() -> None:
    kept = {DO_NOT_DISRUPT: "true"}
    look = build(
        listings(
            node("n-1"),
            node("n-2"),
            node("n-3", annotations=kept),
            pods=[daemon(node="n-1"), pod("a", node="n-2", annotations=kept)],
        )
    )
    assert [look.is_empty(i) for i in ("i-1", "i-2", "i-3", "i-9")] == [True, False, True, False]
    assert look.must_stay("i-1") == ""
    assert "do-not-disrupt" in look.must_stay("i-2")
    assert "do-not-disrupt" in look.must_stay("i-3")


def test_a_fleet_at_rest_stays_so() -> None:
    rested = replace(CALM, worker_count=3, hold_code="NeitherBusyNorIdle")
    assert isinstance(workflow(CONSOLIDATING).step(rested, seen(), NOW_S), Done)


def test_in_observe_mode_it_is_said_what_would_leave_and_nothing_is_done() -> None:
    watching = replace(CONSOLIDATING, observe=True)
    noted = stepped(replace(CALM, cluster_uid="uid-1"), seen("i-3"), watching)
    assert [(e.kind, e.about) for e in noted.events] == [("nodeEmpty", "i-3")]
    assert noted.value.scale_down is None
    held = concluded(IDLE, seen("i-3"), watching)
    assert isinstance(held, Hold)
    assert held.why == "observing: would scale down, because consolidation: empty for 30m"
    assert isinstance(stepped(replace(IDLE, cluster_uid="uid-1"), seen("i-3"), watching), Done)
