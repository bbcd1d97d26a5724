"""Which pods ask for nodes, and what a new node of a pool is expected to be."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler.fleet import on_its_way
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Pool
from holdfast.autoscaler.snapshot.build import Listings, build
from holdfast.cloud import Shape, State
from holdfast.cloud.kubernetes import Pod, Taint
from tests.workloads import daemon, instance, listings, node, pending, pod, settings

ZONE = "topology.kubernetes.io/zone"
CLAIM = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-0"}}]}


def counts(look: Listings, on_its_way: int = 0) -> list[tuple[str, int, str]]:
    return [(need.pool, need.count, need.zone) for need in build(look).needs(on_its_way)]


@pytest.mark.parametrize(
    ("waiting", "counted"),
    [
        (pending(), True),
        (pod(), False),
        (pod(status={"conditions": [{"type": "PodScheduled", "status": "True"}]}), False),
        (
            pod(
                status={
                    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]
                }
            ),
            False,
        ),
        (pending(terminating=True), False),
        (pending(node="n-9"), False),
        (pending(status={"nominatedNodeName": "n-1"}), False),
        (pending(owner="DaemonSet/agent"), False),
    ],
)
def test_only_what_the_scheduler_found_no_node_for_is_demand(waiting: Pod, counted: bool) -> None:
    snapshot = build(listings(pods=[waiting]))

    assert snapshot.pending == counted
    assert bool(snapshot.needs(0)) == counted


def test_pods_that_can_never_fit_are_unsatisfiable_and_no_demand() -> None:
    """Five cores on machines of two: the fleet must not scale up for these, however long they wait."""
    giants = [pending(f"giant-{n}", cpu="5", memory="8Gi") for n in range(20)]

    snapshot = build(listings(node("n-1"), pods=giants))

    assert snapshot.pending == 0
    assert snapshot.needs(0) == ()
    (why,) = snapshot.unsatisfiable
    told = "shop/giant-0 and 19 like it: not enough CPU: 5000m needed, 2000m free"
    assert why == f"{told} (the scheduler: 0/3 nodes are available)"


def test_a_pod_that_real_nodes_of_the_pool_do_not_hold_is_unsatisfiable_whatever_the_type_promises() -> None:
    """A machine of 4 GiB gives pods less than that."""
    large = pending(memory="3900Mi")
    full = pod("other", node="n-1", memory="2Gi")

    assert build(listings(pods=[large])).pending == 1, "no node of it was seen yet"
    seen = build(listings(node("n-1", memory="3700Mi"), pods=[large, full]))
    assert seen.pending == 0
    assert "not enough memory" in seen.unsatisfiable[0]


def test_a_new_node_is_of_a_type_that_holds_what_waits() -> None:
    types = Pool(subnet_ids=("subnet-a",), instance_types=("t3.large", "t3.medium"))
    shapes = {"t3.large": Shape(2_000, 8 << 30), "t3.medium": Shape(2_000, 4 << 30)}
    look = listings(settings=settings(pools=(types,)), shapes=shapes, pods=[pending(memory="5Gi")])

    (need,) = build(look).needs(0)
    assert need.types == ("t3.large",)
    (either,) = build(replace(look, pods=[pending(memory="3Gi")])).needs(0)
    assert either.types == ("t3.medium", "t3.large")
    assert build(replace(look, pods=[pending(memory="9Gi")])).pending == 0
    assert build(replace(look, shapes={})).unsatisfiable == (
        "shop/web-1: EC2 gave no size for t3.large, t3.medium (the scheduler: 0/3 nodes are available)",
    )


def test_what_every_node_runs_takes_its_part_of_a_new_one() -> None:
    agents = [daemon(f"agent-{n}", node="n-1", cpu="300m") for n in range(1)]
    others = [
        daemon("special", node="n-1", cpu="900m", owner="DaemonSet/gpu", spec={"nodeSelector": {"gpu": "y"}})
    ]
    waiting = [pending(cpu="1800m")]

    full = node("n-1", cpu="1700m")
    # Its own type is known from the node; a second pool has none yet and goes by the shape.
    assert build(listings(full, pods=waiting, instances=[instance("i-1", pool="x")])).pending == 1
    assert build(listings(full, pods=[*waiting, *others], instances=[instance("i-1", pool="x")])).pending == 1
    assert build(listings(full, pods=[*waiting, *agents], instances=[instance("i-1", pool="x")])).pending == 0


def test_a_daemon_pod_counts_on_new_nodes_though_it_was_made_for_one_by_name() -> None:
    """A DaemonSet ties each pod to its node by a field."""

    def made_for(*expressions: dict[str, Any]) -> dict[str, Any]:
        fields = [{"key": "metadata.name", "operator": "In", "values": ["n-1"]}]
        term = {"matchFields": fields, "matchExpressions": list(expressions)}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        return {"affinity": {"nodeAffinity": required}}

    here, elsewhere = [instance("i-1", pool="x")], {"key": "gpu", "operator": "Exists"}
    waiting = pending(cpu="1800m")
    everywhere = daemon(node="n-1", cpu="300m", spec=made_for())
    assert build(listings(node("n-1", cpu="300m"), pods=[waiting, everywhere], instances=here)).pending == 0
    special = daemon(node="n-1", cpu="300m", spec=made_for(elsewhere))
    assert build(listings(node("n-1", cpu="300m"), pods=[waiting, special], instances=here)).pending == 1


@pytest.mark.parametrize(
    ("pool", "spec", "taken"),
    [
        (Pool(), {"nodeSelector": {"kubernetes.io/arch": "amd64"}}, True),
        (Pool(), {"nodeSelector": {"kubernetes.io/arch": "arm64"}}, False),
        (Pool(architecture="arm64"), {"nodeSelector": {"kubernetes.io/arch": "arm64"}}, True),
        (Pool(), {"nodeSelector": {"kubernetes.io/os": "linux"}}, True),
        (Pool(), {"nodeSelector": {"kubernetes.io/os": "windows"}}, False),
        (Pool(labels={"disk": "ssd"}), {"nodeSelector": {"disk": "ssd"}}, True),
        (Pool(), {"nodeSelector": {"disk": "ssd"}}, False),
        (Pool(name="gpu"), {"nodeSelector": {"holdfast.dev/pool": "gpu"}}, True),
        (Pool(), {"nodeSelector": {ZONE: "b"}}, True),
        (Pool(), {"nodeSelector": {ZONE: "z"}}, False),
        (Pool(), {"nodeSelector": {"kubernetes.io/hostname": "n-1"}}, False),
        (Pool(taints=(Taint(key="x"),)), {}, False),
        (Pool(taints=(Taint(key="x"),)), {"tolerations": [{"operator": "Exists"}]}, True),
    ],
)
def test_a_new_node_has_the_labels_and_taints_of_its_pool(
    pool: Pool, spec: dict[str, Any], taken: bool
) -> None:
    pools = (replace(pool, subnet_ids=("subnet-a", "subnet-b")),)

    snapshot = build(listings(settings=settings(pools=pools), pods=[pending(spec=spec)]))

    assert (snapshot.pending, bool(snapshot.unsatisfiable)) == ((1, False) if taken else (0, True))


def test_a_label_that_an_operator_put_on_a_node_is_not_expected_on_new_ones() -> None:
    full = pod("big", node="n-1", cpu="2")
    waiting = pending(spec={"nodeSelector": {"team": "red"}})

    assert build(listings(node("n-1", labels={"team": "red"}), pods=[full, waiting])).pending == 0


@pytest.mark.parametrize(
    ("label", "says", "expected"),
    [
        (ZONE, "a", True),
        (ZONE, "", False),
        ("node.kubernetes.io/instance-type", "t3.medium", True),
        ("node.kubernetes.io/instance-type", "k3s", False),
    ],
)
def test_what_the_nodes_of_the_pool_belie_is_not_expected(label: str, says: str, expected: bool) -> None:
    full = pod("big", node="n-1", cpu="2")
    wanted = "a" if label == ZONE else "t3.medium"
    here = node("n-1", labels={label: says})

    look = listings(
        here, instances=[instance("i-1")], pods=[full, pending(spec={"nodeSelector": {label: wanted}})]
    )

    assert build(look).pending == expected


def test_other_resources_are_expected_once_a_node_of_the_pool_has_shown_them() -> None:
    waiting, full = (
        pending(requests={"nvidia.com/gpu": "1"}),
        pod("x", node="n-1", requests={"nvidia.com/gpu": "1"}),
    )

    assert build(listings(node("n-1"), pods=[waiting])).unsatisfiable == (
        "shop/web-1: no nvidia.com/gpu (the scheduler: 0/3 nodes are available)",
    )
    with_gpu = node("n-1", resources={"nvidia.com/gpu": "1"})
    assert counts(listings(with_gpu, pods=[waiting, full])) == [("default", 1, "")]


def test_a_disk_that_was_never_seen_is_no_reason_to_refuse() -> None:
    waiting = pending(requests={"ephemeral-storage": "10Gi"})

    assert build(listings(pods=[waiting])).pending == 1
    small = node("n-1", resources={"ephemeral-storage": "8Gi"})
    assert build(listings(small, pods=[waiting])).pending == 0, "now one has been seen"


# What comes


def test_what_is_on_its_way_is_counted_before_more_is_asked_for() -> None:
    waiting = [pending(f"web-{n}", cpu="1500m") for n in range(3)]

    assert counts(listings(pods=waiting), 0) == [("default", 3, "")]
    assert counts(listings(pods=waiting), 2) == [("default", 1, "")]
    assert counts(listings(pods=waiting), 3) == []


def test_a_machine_that_boots_is_counted_once_and_as_what_it_is() -> None:
    pools = (Pool(subnet_ids=("subnet-a",)), Pool(name="gpu", labels={"gpu": "y"}, subnet_ids=("subnet-a",)))
    waiting = [pending(cpu="1500m", spec={"nodeSelector": {"gpu": "y"}})]
    look = listings(pods=waiting, settings=settings(pools=pools))

    booting = replace(look, instances=[instance("i-9", pool="gpu", state=State.PENDING)])
    assert counts(booting, 1) == []
    joining = replace(booting, nodes=[node("n-9", joining=True, ready=False, pool="gpu")])
    assert counts(joining, 1) == []
    assert counts(look, 1) == [("gpu", 1, "")], "a machine whose node was not seen yet is of the first pool"


def test_a_node_that_broke_in_service_is_no_room_to_come() -> None:
    """It may never recover, and its pods would wait for ever."""
    look = listings(node("n-1", ready=None), pods=[pending(cpu="1500m")])

    assert on_its_way(Cluster(), build(look)) == 0
    assert counts(look, on_its_way=0) == [("default", 1, "")]


def test_a_doubtful_pod_asks_for_a_zone_where_no_node_stands_empty() -> None:
    assert counts(listings(node("n-1", zone="a"), pods=[pending(spec=CLAIM)])) == [("default", 1, "b")]
    everywhere = [node(f"n-{zone}", zone=zone) for zone in "abc"]
    snapshot = build(listings(*everywhere, pods=[pending(spec=CLAIM)]))
    assert snapshot.needs(0) == ()
    assert snapshot.pending == 0, "no new node would help it"
    assert "stands empty" in snapshot.unhelped["shop/ReplicaSet web"]
