"""Machines, nodes and pods of one look, joined."""

from typing import Any

import msgspec
import pytest

from holdfast.autoscaler.settings import Pool
from holdfast.autoscaler.snapshot import Ghost, Place, Worker
from holdfast.autoscaler.snapshot.build import Listings, build, join, simulate
from holdfast.cloud import Notice, NoticeKind, State
from holdfast.cloud.kubernetes import INSTANCE_LABEL, POOL_LABEL, Address, Pod
from tests.workloads import budget, daemon, instance, listings, node, pending, pod, settings

ZONE = "topology.kubernetes.io/zone"
CLAIM = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-0"}}]}


def counts(look: Listings, on_its_way: int = 0) -> list[tuple[str, int, str]]:
    return [(need.pool, need.count, need.zone) for need in build(look).needs(on_its_way)]


def test_a_machine_and_its_node_are_one_worker() -> None:
    here = node("n-1", cordon_owners=["5-req-0"], joining=True, ready=False)

    (worker,) = build(listings(here)).workers

    assert worker == Worker(
        instance=instance("i-1"),
        node_name="n-1",
        node_uid="uid-n-1",
        ready=False,
        joining=True,
        cordons=frozenset({"5-req-0"}),
        cordoned=True,
    )


def test_a_machine_that_has_not_joined_is_a_worker_without_a_node() -> None:
    (worker,) = build(listings(instances=[instance("i-7", state=State.PENDING)])).workers

    assert (worker.node_name, worker.ready, worker.alive) == ("", False, True)


def test_nodes_are_known_by_their_machine_never_by_their_name() -> None:
    stranger = node("i-1", instance_id="-")

    (worker,) = build(listings(stranger, instances=[instance("i-1")])).workers

    assert worker.node_name == ""


def test_of_two_nodes_of_one_machine_the_one_in_use_counts() -> None:
    old, new = node("old", instance_id="i-1", ready=False), node("new", instance_id="i-1")

    for order in ((old, new), (new, old)):
        (worker,) = build(listings(*order, instances=[instance("i-1")])).workers
        assert worker.node_name == "new"


@pytest.mark.parametrize(
    ("state", "ghost"),
    [
        (State.RUNNING, False),
        (State.PENDING, False),
        (State.SHUTTING_DOWN, True),
        (State.TERMINATED, True),
        (State.STOPPED, True),
    ],
)
def test_a_node_whose_machine_does_not_live_is_a_ghost(state: State, ghost: bool) -> None:
    snapshot = build(listings(node("n-1"), instances=[instance("i-1", state=state)]))

    assert snapshot.ghosts == ((Ghost("i-1", "n-1", "uid-n-1", state, ready=True),) if ghost else ())


def test_a_node_of_ours_whose_machine_is_not_listed_is_a_ghost_of_unknown_state() -> None:
    ghost = Ghost("i-1", "n-1", "uid-n-1", None, ready=True)
    assert build(listings(node("n-1"), instances=[])).ghosts == (ghost,)


@pytest.mark.parametrize("role", ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"])
@pytest.mark.parametrize("listed", [[], [instance("i-1", state=State.TERMINATED)]])
def test_the_control_plane_is_never_a_ghost(role: str, listed: list[Any]) -> None:
    assert build(listings(node("n-1", labels={role: ""}), instances=listed)).ghosts == ()


def test_a_foreign_node_is_neither_a_worker_nor_a_ghost_but_offers_room() -> None:
    by_provider_id = node("n-1", labels={})
    labels = {k: v for k, v in by_provider_id.metadata.labels.items() if not k.startswith("holdfast")}
    foreign = msgspec.structs.replace(
        by_provider_id, metadata=msgspec.structs.replace(by_provider_id.metadata, labels=labels)
    )
    look = listings(foreign, node("x", instance_id="-"), instances=[], pods=[pending(cpu="1500m")])
    snapshot = build(look)

    assert snapshot.workers == ()
    assert snapshot.ghosts == ()
    assert snapshot.needs(0) == ()
    assert set(simulate(look, join(look)).rooms) == {"n-1", "x"}


def test_nodes_of_dead_machines_and_broken_nodes_offer_no_room() -> None:
    waiting = [pending(cpu="1500m")]
    assert counts(listings(node("n-1"), pods=waiting)) == []
    dead = [instance("i-1", state=State.SHUTTING_DOWN)]
    assert counts(listings(node("n-1"), instances=dead, pods=waiting)) == [("default", 1, "")]
    assert counts(listings(node("n-1"), instances=[], pods=waiting)) == [("default", 1, "")]
    assert counts(listings(node("n-1", ready=False), pods=waiting)) == [("default", 1, "")]
    assert counts(listings(node("n-1", cordoned=True), pods=waiting)) == [("default", 1, "")]
    assert counts(listings(node("n-1", joining=True), pods=waiting)) == [("default", 1, "")]


def test_places_are_the_subnets_of_the_pools_whose_zone_is_known() -> None:
    pools = (Pool(subnet_ids=("subnet-a", "subnet-x")), Pool(name="gpu", subnet_ids=("subnet-b",)))

    snapshot = build(listings(settings=settings(pools=pools)))

    assert snapshot.places == (Place("default", "a", "subnet-a"), Place("gpu", "b", "subnet-b"))


# Nodes that may leave


def test_a_node_that_nothing_keeps_may_leave() -> None:
    snapshot = build(listings(node("n-1"), node("n-2"), pods=[pod(node="n-1"), daemon(node="n-1")]))

    assert snapshot.must_stay("i-1") == ""
    assert snapshot.fits_without(frozenset({"i-1"}), frozenset()) == ""


@pytest.mark.parametrize(
    ("here", "machine", "pods", "why"),
    [
        ({}, {"action_id": ""}, [], "not launched by Holdfast"),
        ({"control_plane": True}, {}, [], "control plane"),
        ({"cordoned": True}, {}, [], "cordoned by a person"),
        ({"cordon_owners": ["1-a"], "cordon_found": True}, {}, [], "cordoned by a person"),
        ({"cordon_owners": ["1-a"]}, {}, [], ""),
        ({}, {}, [pod(node="n-1", owner="")], "unmanaged pod: nothing would start shop/web-1"),
        ({}, {}, [pod(node="n-1", namespace="kube-system")], "kube-system pod"),
        ({}, {}, [pod(node="n-1", cpu="1800m")], "shop/web-1 fits on no other node: not enough CPU"),
        ({}, {}, [pod(node="n-1", spec=CLAIM)], "shop/web-1 fits on no other node: it has a volume claim"),
        ({"control_plane": True}, {"action_id": ""}, [pod(node="n-1", owner="")], "not launched by Holdfast"),
    ],
)
def test_the_first_reason_to_stay_is_given(
    here: dict[str, Any], machine: dict[str, Any], pods: list[Pod], why: str
) -> None:
    machines = [instance("i-1", **machine), instance("i-2")]
    other = pod("filler", node="n-2", cpu="500m")

    snapshot = build(listings(node("n-1", **here), node("n-2"), instances=machines, pods=[*pods, other]))

    assert snapshot.must_stay("i-1").startswith(why)
    assert bool(snapshot.must_stay("i-1")) == bool(why)


def test_a_machine_that_is_not_listed_stays() -> None:
    assert build(listings()).must_stay("i-404").startswith("not launched by Holdfast")


def test_budgets_are_asked() -> None:
    here = pod(node="n-1", labels={"app": "web"})
    look = listings(node("n-1"), node("n-2"), pods=[here], budgets=[budget(selector={"app": "web"})])

    assert build(look).must_stay("i-1").startswith("exhausted budget")


def test_pods_of_several_leaving_nodes_must_fit_together_and_not_on_closed_ones() -> None:
    nodes = [node(f"n-{n}") for n in range(1, 5)]
    snapshot = build(listings(*nodes, pods=[pod(f"web-{n}", node=f"n-{n}", cpu="1100m") for n in (1, 2)]))
    none: frozenset[str] = frozenset()

    assert snapshot.fits_without(frozenset({"i-1", "i-2"}), none) == ""
    assert snapshot.fits_without(frozenset({"i-1"}), frozenset({"i-3", "i-4"})) != ""
    assert snapshot.fits_without(frozenset({"i-1", "i-2", "i-3"}), none) != ""
    assert snapshot.fits_without(frozenset({"i-404"}), none) == ""


def test_nodes_that_are_still_to_come_are_no_place_for_pods_that_leave() -> None:
    joining = node("n-2", joining=True)
    snapshot = build(listings(node("n-1"), joining, pods=[pod(node="n-1")]))

    assert "there is no other node" in snapshot.must_stay("i-1")


def test_a_control_plane_without_taints_offers_room_and_one_with_taints_does_not() -> None:
    taint = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
    open_one = node("master", instance_id="-", control_plane=True)
    closed_one = node("master", instance_id="-", control_plane=True, taints=[taint])

    assert build(listings(node("n-1"), open_one, pods=[pod(node="n-1")])).must_stay("i-1") == ""
    assert "taint" in build(listings(node("n-1"), closed_one, pods=[pod(node="n-1")])).must_stay("i-1")


# Troubles


@pytest.mark.parametrize(
    ("ready", "broken", "joining", "brakes"),
    [
        (9, 1, 0, False),
        (1, 1, 0, False),
        (3, 2, 0, True),
        (4, 2, 0, False),
        (0, 2, 0, True),
        (4, 0, 5, False),
    ],
)
def test_many_broken_nodes_at_once_are_a_trouble(ready: int, broken: int, joining: int, brakes: bool) -> None:
    nodes = [
        *(node(f"n-{n}") for n in range(ready)),
        *(node(f"n-b{n}", ready=None) for n in range(broken)),
        *(node(f"n-j{n}", ready=False, joining=True) for n in range(joining)),
    ]

    snapshot = build(listings(*nodes, troubles=("the budgets cannot be listed",)))

    assert snapshot.troubles[0] == "the budgets cannot be listed"
    assert snapshot.troubles[1:] == (
        (f"{broken} of {ready + broken} nodes are not ready at once",) if brakes else ()
    )


def test_a_look_with_nothing_to_do_simulates_nothing() -> None:
    """A pod that cannot be considered is met by no question: there is none."""
    unweighable = pod(node="n-1", requests={"cpu": "much"})

    snapshot = build(listings(node("n-1"), pods=[unweighable]))

    assert snapshot.pending == 0
    assert snapshot.needs(3) == ()
    with pytest.raises(ValueError, match="'much' is not a Kubernetes quantity"):
        snapshot.must_stay("i-1")


def test_what_was_looked_at_is_handed_on() -> None:
    waiting = (Notice("i-1", NoticeKind.INTERRUPTION, 1, 121),)

    snapshot = build(listings(node("n-1"), notices=waiting, digests={"default": "d"}))

    assert (snapshot.notices, snapshot.digests) == (waiting, {"default": "d"})


def test_a_node_that_names_no_machine_is_no_ghost() -> None:
    unnamed = node("n-1", instance_id="-", labels={POOL_LABEL: "default"})

    assert build(listings(unnamed, instances=[])).ghosts == ()


@pytest.mark.parametrize(
    ("labels", "ghosts"),
    [({POOL_LABEL: "default"}, 1), ({INSTANCE_LABEL: "i-1"}, 1), ({"team": "shop"}, 0)],
    ids=["pool", "instance", "neither"],
)
def test_a_node_was_ours_if_either_of_our_labels_says_so(labels: dict[str, str], ghosts: int) -> None:
    """Its provider id names a machine that is not listed: whose it was, only labels say."""
    there = node("n-1")
    meta = msgspec.structs.replace(there.metadata, labels=labels)

    assert len(build(listings(msgspec.structs.replace(there, metadata=meta), instances=[])).ghosts) == ghosts


def test_machines_that_are_dead_or_have_no_node_do_not_make_the_others_look_broken() -> None:
    nodes = [node("n-1"), node("n-2"), node("n-3", ready=False), node("n-4", ready=False)]
    machines = [instance(f"i-{n}") for n in (1, 2)]
    machines += [instance(f"i-{n}", state=State.TERMINATED) for n in (3, 4)]
    machines += [instance(f"i-{n}", state=State.PENDING) for n in (5, 6, 7)]

    assert build(listings(*nodes, instances=machines)).troubles == ()


def test_just_as_many_as_the_fraction_allows_are_no_trouble() -> None:
    nodes = [node("n-1"), node("n-2"), node("n-3", ready=False), node("n-4", ready=False)]

    assert build(listings(*nodes, settings=settings(brake_not_ready_fraction=0.5))).troubles == ()
    assert build(listings(*nodes, settings=settings(brake_not_ready_fraction=0.49))).troubles != ()


@pytest.mark.parametrize(
    "said",
    [
        {"private_ip": "10.0.1.5"},
        {"private_dns": "box.internal"},
        {"private_dns": "box-2.internal"},
    ],
)
def test_a_node_that_names_no_machine_may_be_that_of_one_with_its_address(said: dict[str, Any]) -> None:
    address = Address(type="InternalIP", address="10.0.1.5")
    boxes = [node("box.internal", instance_id="-"), node("box-2", instance_id="-")]
    status = msgspec.structs.replace(boxes[0].status, addresses=(address,))
    boxes[0] = msgspec.structs.replace(boxes[0], status=status)

    found = build(listings(*boxes, instances=[instance("i-1", **said)]))

    assert [each.namesake for each in found.workers] == ["box-2" if "box-2" in str(said) else "box.internal"]
    assert "must set the provider id" in found.problems[0]
