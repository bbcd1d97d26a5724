"""Why a node stays, where a pod would go, what would have to change: everything at once, not the first."""

import json
from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler.record import (
    Cluster,
    Condemned,
    Interrupted,
    ScaleDown,
    ScaleUp,
    Skip,
    Status,
    Target,
    Tombstone,
)
from holdfast.autoscaler.report.explain import Explanation, NodeVerdict, explain
from holdfast.autoscaler.scale_down.drain import Blocker, Rule
from holdfast.autoscaler.settings import Pool
from holdfast.autoscaler.snapshot.build import Listings, build
from holdfast.cloud import NoticeKind, State
from holdfast.cloud.kubernetes import Pod
from tests.workloads import ZONES, budget, daemon, instance, listings, node, pending, pod, settings

NOW = 10_000.0
WEB, DB = {"app": "web"}, {"app": "db"}
SCRATCH = {"volumes": [{"name": "scratch", "emptyDir": {}}]}
CLAIM = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-0"}}]}
ROOMY = settings(min_workers=0)
NOTHING = Cluster()


def told(look: Listings, cluster: Cluster = NOTHING, **said: Any) -> Explanation:
    return explain(cluster, look, replace(look.settings, **said), NOW)


def verdict(look: Listings, name: str, cluster: Cluster = NOTHING, **said: Any) -> NodeVerdict:
    (found,) = [each for each in told(look, cluster, **said).nodes if each.node == name]
    return found


def rules(look: Listings, name: str, cluster: Cluster = NOTHING, **said: Any) -> list[Rule]:
    return [blocker.rule for blocker in verdict(look, name, cluster, **said).blockers]


def two_nodes(*pods: Pod, **said: Any) -> Listings:
    return listings(node("n-1"), node("n-2"), pods=pods, **{"settings": ROOMY, **said})


def twelve() -> tuple[Listings, Cluster]:
    """A cluster in which each of twelve blockers keeps a node, and some nodes have three of them."""
    nodes = [
        *(node(f"n-{n}", zone="a") for n in range(1, 10)),
        node("n-10", zone="b"),
    ]
    pods = [
        pod("kube-proxy-x", node="n-1", priority_class="system-node-critical"),
        pod("gate-1", node="n-2", priority_class="system-cluster-critical"),
        pod("coredns-1", node="n-3", namespace="kube-system", owner="ReplicaSet/coredns"),
        pod("web-1", node="n-4", labels=WEB),
        pod("db-1", node="n-5", labels=DB),
        pod("bare", node="n-6", owner=""),
        pod("cache-1", node="n-7", spec=SCRATCH),
        pod("job-1", node="n-8", annotations={"holdfast.dev/do-not-evict": "true"}),
        # Three at once:
        pod("bare-too", node="n-8", owner="", spec=SCRATCH),
        # Fits nowhere else: every other node has less left.
        pod("giant", node="n-9", cpu="1950m"),
        pod("front-1", node="n-10"),
    ]
    budgets = [
        budget("web-pdb", selector=WEB, allowed=0, healthy=2, desired=2),
        budget("db-pdb", selector=DB, allowed=1),
        budget("db-old", selector=DB, allowed=1),
    ]
    skip = Skip("i-7", "not drained within 300 s: shop/cache-1", 10_600)
    return listings(*nodes, pods=pods, budgets=budgets, settings=settings(min_workers=10)), Cluster(
        skipped=(skip,)
    )


def test_the_twelve_blockers_are_each_named_with_node_pod_reason_and_what_lifts_them() -> None:
    look, record = twelve()
    found = {each.node: each for each in told(look, record).nodes}

    floor = Rule.FLOOR
    assert {name: [b.rule for b in each.blockers] for name, each in found.items()} == {
        "n-1": [floor, Rule.NODE_CRITICAL],
        "n-2": [floor, Rule.CLUSTER_CRITICAL],
        "n-3": [floor, Rule.KUBE_SYSTEM],
        "n-4": [floor, Rule.BUDGET],
        "n-5": [floor, Rule.TWO_BUDGETS],
        "n-6": [floor, Rule.UNMANAGED],
        "n-7": [floor, Rule.JUST_FAILED, Rule.LOCAL_STORAGE],
        "n-8": [floor, Rule.UNMANAGED, Rule.LOCAL_STORAGE, Rule.DO_NOT_EVICT],
        "n-9": [floor, Rule.NOWHERE_ELSE],
        "n-10": [floor, Rule.LAST_OF_ZONE],
    }
    named = {blocker.rule for each in found.values() for blocker in each.blockers}
    assert len(named) == 12
    assert not any(each.may_leave for each in found.values())
    for each in found.values():
        for blocker in each.blockers:
            assert blocker.reason
            assert blocker.remedy

    assert [blocker.pod for blocker in found["n-8"].blockers] == [
        "",
        "shop/bare-too",
        "shop/bare-too",
        "shop/job-1",
    ]
    assert found["n-9"].blockers[1].pod == "shop/giant"
    assert "not enough CPU" in found["n-9"].blockers[1].reason
    assert found["n-7"].blockers[1].reason == "it was tried and kept: not drained within 300 s: shop/cache-1"
    assert "10m" in found["n-7"].blockers[1].remedy
    assert found["n-10"].blockers[1].reason == "it is the last worker in zone b, and other zones have some"
    assert found["n-10"].blockers[0].reason == "10 workers are in service, and MIN_WORKERS is 10"


def test_what_is_said_is_what_removing_nodes_goes_by() -> None:
    """The nodes with a reason of their own here are exactly those that `must_stay` there."""
    look, _ = twelve()
    look = replace(look, settings=ROOMY)
    snapshot = build(look)
    of_the_fleet = {Rule.LAST_OF_ZONE}

    for each in told(look).nodes:
        kept_by_itself = any(blocker.rule not in of_the_fleet for blocker in each.blockers)
        assert kept_by_itself == bool(snapshot.must_stay(each.instance_id)), each


def test_a_node_with_ordinary_pods_may_leave() -> None:
    look = two_nodes(pod(node="n-1"), daemon(node="n-1"))

    assert verdict(look, "n-1") == NodeVerdict("n-1", "i-1", "a", "default")
    assert verdict(look, "n-1").may_leave


def test_each_rule_that_was_lifted_is_gone() -> None:
    look = two_nodes(pod(node="n-1", namespace="kube-system"))

    assert rules(look, "n-1") == [Rule.KUBE_SYSTEM]
    moved = replace(ROOMY.drain, kube_system_stays=False)
    assert rules(look, "n-1", drain=moved) == []


def test_floors_of_the_fleet_and_of_the_pool() -> None:
    look = two_nodes()

    assert rules(look, "n-1", min_workers=2) == [Rule.FLOOR]
    assert rules(look, "n-1", min_workers=1) == []
    pools = (Pool(subnet_ids=tuple(ZONES), min_workers=2),)
    (blocker,) = verdict(look, "n-1", pools=pools).blockers
    assert blocker.rule is Rule.POOL_FLOOR
    assert blocker.reason == "pool default has 2 workers in service, and its min_workers is 2"


def test_floors_count_workers_that_are_in_service_and_stay() -> None:
    nodes = [node("n-1"), node("n-2"), node("n-3", ready=False), node("n-4", joining=True)]
    look = listings(*nodes, settings=settings(min_workers=2))

    assert rules(look, "n-1") == [Rule.FLOOR]
    assert rules(look, "n-3") == [Rule.NOT_IN_SERVICE]
    assert rules(look, "n-4") == [Rule.NOT_IN_SERVICE]
    interrupted = Cluster(interrupted=(Interrupted("i-2", NoticeKind.REBALANCE, 9_990, 0),))
    assert rules(look, "n-1", interrupted, min_workers=1) == [Rule.FLOOR]


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (
            Cluster(condemned=(Condemned("i-1", "9-a", "scale-down", 9_000),)),
            "it is terminating (scale-down, action 9-a)",
        ),
        (
            Cluster(interrupted=(Interrupted("i-1", NoticeKind.INTERRUPTION, 9_990, 10_090),)),
            "the cloud takes it back in 1m30s (interruption)",
        ),
        (
            Cluster(interrupted=(Interrupted("i-1", NoticeKind.REBALANCE, 9_990, 0),)),
            "the cloud takes it back (rebalance)",
        ),
        (Cluster(scale_down=ScaleDown("9-a", 9_000, (Target("i-1"),))), "action 9-a is removing it"),
        (Cluster(gone=(Tombstone("i-1", 9_900),)), "it was removed, and is listed for a little longer"),
    ],
)
def test_a_node_that_leaves_already_is_said_to(record: Cluster, why: str) -> None:
    look = two_nodes(pod(node="n-1", owner=""))

    assert [(b.rule, b.reason) for b in verdict(look, "n-1", record).blockers] == [(Rule.LEAVING, why)]


def test_what_was_kept_is_not_leaving() -> None:
    kept = Cluster(scale_down=ScaleDown("9-a", 9_000, (Target("i-1", Status.SKIPPED),)))

    assert rules(two_nodes(), "n-1", kept) == []


def test_a_failed_drain_is_forgotten_when_its_time_is_over() -> None:
    assert rules(two_nodes(), "n-1", Cluster(skipped=(Skip("i-1", "why", 9_999),))) == []


def test_machines_that_are_not_ours_and_the_control_plane_never_leave_and_nothing_else_is_said_of_them() -> (
    None
):
    nodes = [
        node("n-1"),
        node("n-2"),
        node("master", instance_id="-", control_plane=True),
        node("other", instance_id="-"),
        node("n-3", control_plane=True),
    ]
    machines = [instance("i-1"), instance("i-2", action_id=""), instance("i-3")]
    pods = [pod(node=name, owner="") for name in ("n-2", "master", "other", "n-3")]
    look = listings(*nodes, instances=machines, pods=pods, settings=ROOMY)

    assert rules(look, "n-2") == [Rule.NOT_OURS]
    assert rules(look, "master") == [Rule.CONTROL_PLANE]
    assert rules(look, "other") == [Rule.NOT_OURS]
    assert rules(look, "n-3") == [Rule.CONTROL_PLANE]


def test_a_persons_cordon_keeps_a_node_beside_everything_else() -> None:
    look = listings(node("n-1", cordoned=True), node("n-2"), pods=[pod(node="n-1", owner="")], settings=ROOMY)

    assert rules(look, "n-1") == [Rule.CORDONED, Rule.UNMANAGED]
    assert "kubectl uncordon n-1" in verdict(look, "n-1").blockers[0].remedy


def test_machines_without_a_node_and_nodes_without_a_machine_are_told_of() -> None:
    machines = [instance("i-1"), instance("i-2", state=State.TERMINATED)]
    look = listings(node("n-2"), instances=machines, settings=ROOMY)

    assert rules(look, "(not joined)") == [Rule.NOT_IN_SERVICE]
    (ghost,) = verdict(look, "n-2").blockers
    assert ghost == Blocker(
        Rule.LEAVING,
        "",
        "its machine i-2 is terminated: only the node object is left",
        "nothing: it goes by itself",
    )


# Pods


def test_every_kind_of_waiting_pod_is_told_which_node_would_take_it() -> None:
    pods = [
        *(pending(f"web-{n}", cpu="900m") for n in range(5)),
        pending("giant", cpu="9"),
        pending("db-0", cpu="50m", spec=CLAIM, owner="StatefulSet/db"),
    ]
    found = {each.example: each for each in told(listings(node("n-1"), pods=pods, settings=ROOMY)).pods}
    web, db, giant = found["shop/web-0"], found["shop/db-0"], found["shop/giant"]

    assert web.count == 5
    assert web.owners == ("shop/ReplicaSet web",)
    assert web.takers == ("n-1: 2 pods", "2 new of pool default: 3 pods")
    assert web.why == ""
    assert db.takers == ("1 new of pool default: 1 pod",)
    claim = "a volume claim that may be tied to a zone or a node"
    assert db.why == f"not certain: it has {claim}, which is not considered yet"
    assert giant.takers == ()
    assert giant.unsatisfiable
    assert giant.why == "not enough CPU: 9000m needed, 2000m free"


@pytest.mark.parametrize(
    ("waiting", "why"),
    [
        (pod(), "the scheduler has not looked at it yet"),
        (pending(status={"nominatedNodeName": "n-1"}), "the scheduler makes room for it on n-1"),
        (pod(spec={"schedulingGates": [{"name": "quota"}]}), "it waits for its scheduling gate quota"),
        (pod(terminating=True), "it is being deleted"),
        (daemon(unschedulable=True), "a DaemonSet wants it on one certain node: another node would not help"),
    ],
)
def test_pods_that_wait_for_something_else_are_told_for_what(waiting: Pod, why: str) -> None:
    (found,) = told(listings(pods=[waiting])).pods

    assert (found.takers, found.why, found.count) == ((), why, 1)


def test_pods_that_wait_alike_are_told_once() -> None:
    pods = [pod(f"web-{n}") for n in range(7)]

    assert [(each.count, each.owners) for each in told(listings(pods=pods)).pods] == [
        (7, ("shop/ReplicaSet web",))
    ]


def test_many_nodes_that_would_take_pods_are_summed_up() -> None:
    nodes = [node(f"n-{n}") for n in range(8)]
    (found,) = told(listings(*nodes, pods=[pending(f"web-{n}", cpu="2") for n in range(8)])).pods

    assert len(found.takers) == 6
    assert found.takers[-1] == "3 more nodes: 3 pods"


def test_what_is_on_its_way_takes_pods() -> None:
    booting = Cluster(scale_up=ScaleUp("9-a", 9_000, 1, foreign_ids=("i-1",)))
    look = listings(instances=[instance("i-1", state=State.PENDING)], pods=[pending(cpu="1500m")])

    (found,) = told(look, booting).pods

    assert found.takers == ("i-1: 1 pod",)


def test_everything_is_plain_json() -> None:
    look, record = twelve()
    waiting = [pending(), pending("giant", cpu="9"), pod("new")]
    said = told(replace(look, pods=[*look.pods, *waiting]), record).as_json()

    assert json.loads(json.dumps(said)) == said
    assert said["nodes"][0]["blockers"][0] == {
        "rule": "floor",
        "pod": "",
        "reason": "10 workers are in service, and MIN_WORKERS is 10",
        "remedy": "lower MIN_WORKERS below 10, or let the fleet scale up first",
    }
    assert {
        "decision",
        "why",
        "reasons_to_scale_up",
        "bars_to_scale_up",
        "scales_down_only_if",
        "troubles",
        "consolidation",
        "rotation",
    } == set(said["fleet"])


def test_a_pool_that_cannot_be_launched_from_takes_no_pod() -> None:
    look = listings(node("n-1"), pods=[pod("web-0", node="n-1", cpu="1"), pending("web-1", cpu="1500m")])
    (before,) = told(look).pods
    (after,) = told(replace(look, pool_problems={"default": "no image"})).pods

    assert before.takers == ("1 new of pool default: 1 pod",)
    assert (after.takers, after.why) == ((), "pool default cannot be launched from: no image")
