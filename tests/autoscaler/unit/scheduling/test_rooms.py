"""What a node that stands has left, and what a new one of a pool is expected to offer."""

from collections.abc import Sequence
from typing import Any

import msgspec

from holdfast.autoscaler.scheduling.fit import EPHEMERAL_STORAGE, HostPort, Room
from holdfast.autoscaler.scheduling.new_nodes import Candidate
from holdfast.autoscaler.scheduling.node_info import NodeInfo, NodeInfos
from holdfast.autoscaler.scheduling.pack import pack, unplaceable
from holdfast.autoscaler.scheduling.rooms import (
    INSTANCE_TYPE,
    REGION,
    UNKNOWN_DISK,
    ZONE,
    Known,
    candidate,
    room_of,
)
from holdfast.autoscaler.scheduling.simulation import Simulation, is_unschedulable
from holdfast.autoscaler.settings import Pool
from holdfast.autoscaler.snapshot.build import join, simulate
from holdfast.cloud import Market, Shape, State
from holdfast.cloud.kubernetes import CAPACITY_LABEL, instance_id_of, takes_pods
from holdfast.cloud.requests import Amount
from tests.workloads import SHAPES, daemon, instance, listings, node, pod, settings

GI = 1 << 30
PORT = {"containers": [{"ports": [{"hostPort": 80}]}]}
THE_NODE = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n-1"]}]}


def affine(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": required}}


def brings(
    *types: str,
    known: Sequence[Known] = (),
    zones: Sequence[str] = ("a",),
    every: Sequence[Any] = (),
    shapes: Any = SHAPES,
    more: int = 5,
    **said: Any,
) -> Candidate:
    return candidate(
        Pool(instance_types=types or ("t3.medium",)),
        settings=settings(**said),
        shapes=shapes,
        zones=zones,
        known=known,
        every_node_runs=every,
        more=more,
    )


def offered(*types: str, **said: Any) -> Room:
    return brings(*types, **said).rooms[0]


def knows(name: str = "n-1", kind: str = "t3.medium", **said: Any) -> Known:
    return Known(node(name, **said), instance(name.replace("n-", "i-"), instance_type=kind))


def test_a_node_has_left_what_nothing_that_runs_has_taken() -> None:
    here = node("n-1", cpu="2", memory="4Gi", pods=10, labels={"disk": "ssd"})
    pods = [
        pod("a", node="n-1", cpu="500m", memory="1Gi"),
        pod("b", node="n-1", requests={}, spec=PORT),
        pod(
            "over",
            node="n-1",
            cpu="1",
            phase="Succeeded",
            spec={"containers": [{"ports": [{"hostPort": 1}]}]},
        ),
    ]

    room = room_of(here, NodeInfo(pods), instance("i-1", zone="z"))

    assert room.free == Amount(1_500, 3 * GI, 8)
    assert {port.number for port in room.ports} == {80}
    assert room.labels["disk"] == "ssd"
    assert (room.zone, room.pool, room.instance_id, room.empty) == ("z", "default", "i-1", False)
    assert room_of(here, NodeInfo([daemon(node="n-1"), pods[2]])).empty, (
        "what every node runs, and what is over"
    )


def test_of_each_daemon_set_the_pod_that_asks_for_most_counts_and_none_that_is_over() -> None:
    pods = [
        daemon("a-1", owner="DaemonSet/a", cpu="100m", node="n-1"),
        daemon("a-2", owner="DaemonSet/a", cpu="300m", node="n-2"),
        daemon("a-3", owner="DaemonSet/a", cpu="200m", node="n-3"),
        daemon("a-4", owner="DaemonSet/a", cpu="900m", node="n-4", phase="Failed"),
        daemon("b-1", owner="DaemonSet/b", node="n-1"),
        daemon("c-1", owner="DaemonSet/c"),
        pod("web", node="n-1"),
    ]
    infos = NodeInfos()
    infos.add(pods)

    assert [each.metadata.name for each in infos.daemons] == ["a-2", "b-1"]


def test_a_new_node_offers_what_its_type_does() -> None:
    shapes = {"big": Shape(8_000, 8 * GI, pods=50), "fat": Shape(2_000, 64 * GI, pods=9)}

    disk = ((EPHEMERAL_STORAGE, UNKNOWN_DISK),)
    big, fat = brings("big", "fat", shapes=shapes, pods_per_node=30).rooms
    assert (big.instance_type, big.free) == ("big", Amount(8_000, 8 * GI, 30, disk))
    assert (fat.instance_type, fat.free) == ("fat", Amount(2_000, 64 * GI, 9, disk))
    assert offered("big", shapes=shapes, pods_per_node=30).free.pods == 30
    assert offered("big", shapes=shapes, pods_per_node=90).free.pods == 50


def test_what_nodes_of_a_type_really_have_outranks_what_the_type_says() -> None:
    shapes = {"big": Shape(8_000, 8 * GI, pods=50), "fat": Shape(2_000, 64 * GI, pods=9)}
    seen = [knows("n-1", "big", cpu="7", pods=40, resources={"gpu": "2"}), knows("n-2", "fat", cpu="1")]

    assert offered("big", known=seen, shapes=shapes).free == Amount(7_000, 4 * GI, 40, (("gpu", 2),))


def test_a_candidate_says_how_many_more_there_may_be_and_what_it_does_not_know() -> None:
    assert brings(more=3).more == 3
    unknown = brings("t9.huge", more=3)
    assert (unknown.rooms, unknown.more) == ((), 3)
    assert unknown.problem == "EC2 gave no size for t9.huge"
    new = offered()
    assert (new.new, new.empty, new.pool, new.zone) == (True, True, "default", "a")


def test_labels_are_expected_only_where_no_node_of_the_pool_belies_them() -> None:
    here = {REGION: "eu-1", INSTANCE_TYPE: "t3.medium"}
    honest, silent = knows("n-1", labels=here), knows("n-2", labels={ZONE: "elsewhere"})

    alone = offered(known=[honest], region="eu-1").labels
    assert (alone[ZONE], alone[REGION], alone[INSTANCE_TYPE]) == ("a", "eu-1", "t3.medium")
    belied = offered(known=[honest, silent], region="eu-1").labels
    assert not {ZONE, REGION, INSTANCE_TYPE} & belied.keys()
    unseen = offered(region="eu-1").labels
    assert (unseen[ZONE], unseen[REGION]) == ("a", "eu-1")
    assert INSTANCE_TYPE not in unseen, "believed only once seen"
    two_types = offered("t3.medium", "t3.large", known=[honest], region="eu-1").labels
    assert INSTANCE_TYPE not in two_types, "it may be the other"
    assert ZONE not in offered(zones=()).labels
    assert REGION not in offered(region="").labels


def test_a_market_is_promised_only_while_each_node_of_the_pool_says_its_own() -> None:
    """Where spot gave way, the node says on-demand: that belies nothing."""
    spot = knows("n-1", labels={CAPACITY_LABEL: "spot"})
    on_demand = Known(
        node("n-2", labels={CAPACITY_LABEL: "on-demand"}), instance("i-2", market=Market.ON_DEMAND)
    )

    assert offered(known=[spot, on_demand]).labels[CAPACITY_LABEL] == "spot"
    assert CAPACITY_LABEL not in offered(known=[spot, knows("n-3")]).labels


def test_a_new_node_has_left_what_the_daemon_sets_do_not_take() -> None:
    everywhere = daemon("a", cpu="100m", memory="1Gi", spec=affine(THE_NODE))
    of_zone = daemon("b", cpu="10m", memory="0", spec=affine({**THE_NODE, **zone_is("a")}))
    elsewhere = daemon("c", cpu="900m", spec=affine({**THE_NODE, **zone_is("b")}))
    listening = daemon("d", requests={}, spec=PORT)
    preferring = daemon("e", requests={}, spec={"affinity": {"nodeAffinity": {}}})
    apart = daemon("f", requests={}, spec={"affinity": {}})

    room = offered(every=[everywhere, of_zone, elsewhere, listening, preferring, apart])

    assert (room.free.cpu_m, room.free.memory, room.free.pods) == (2_000 - 110, 3 * GI, 17 - 5)
    assert {port.number for port in room.ports} == {80}


def zone_is(zone: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}


def test_a_pod_that_one_pool_could_run_is_not_unsatisfiable_for_the_others() -> None:
    small = Candidate("small", (Room(name="s", free=Amount(100, GI, 5), new=True),))
    large = Candidate("large", (Room(name="l", free=Amount(4_000, 8 * GI, 5), new=True),))
    giants = [pod(f"giant-{n}", cpu="3") for n in range(3)]

    fate = pack(giants, (), (large, small), 1).fates[0]

    assert (fate.left, fate.unsatisfiable) == (2, False)


def test_a_port_is_named_as_taken_only_where_it_is() -> None:
    asks = {"resources": {"requests": {"cpu": "3"}}, "ports": [{"hostPort": 80}]}
    greedy, tight = pod("web", spec={"containers": [asks]}), Amount(1_000, GI, 5)

    why = unplaceable(
        [greedy],
        [
            Room(name="n-1", free=tight),
            Room(name="n-2", free=tight, ports=frozenset({HostPort(80, "TCP", "0.0.0.0")})),
        ],
    )

    assert "not enough CPU (1 of 2 nodes)" in why
    assert "host port taken (1 of 2 nodes)" in why


def simulation(*nodes: Any, **said: Any) -> Simulation:
    look = listings(*nodes, **said)
    return simulate(look, join(look))


def test_only_nodes_in_service_teach_what_a_new_one_offers() -> None:
    nodes = [node("n-1", joining=True), node("n-2"), node("n-3"), node("n-4", ready=False)]
    machines = [instance("i-1"), instance("i-2", state=State.TERMINATED), instance("i-3"), instance("i-4")]

    seen = simulation(*nodes, instances=machines)._known("default")

    assert [one.node.metadata.name for one in seen] == ["n-3"]


def test_what_comes_is_a_machine_that_lives_and_has_not_joined_each_in_its_zone() -> None:
    nodes = [node("n-1", zone="b", joining=True), node("n-2")]
    machines = [
        instance("i-2"),
        instance("i-3", state=State.TERMINATED),
        instance("i-1", zone="b"),
        instance("i-4", zone="elsewhere", state=State.PENDING),
        instance("i-5", pool="old"),
    ]
    look = simulation(*nodes, instances=machines)

    assert [(room.name, room.zone) for room in look._coming(3)] == [
        ("n-1", "b"),
        ("i-4", "elsewhere"),
        ("a node on its way (3)", "a"),
    ]
    labels = [room.labels.get(ZONE) for room in look._coming(2)]
    assert labels == ["b", "a"], "as the pool would bring it there, or as it would anywhere"
    assert look._coming(0) == []


def test_demand_is_what_the_scheduler_looked_at_and_found_no_node_for() -> None:
    def conditions(**said: str) -> dict[str, Any]:
        usual = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        return {"conditions": [{**usual, **said}]}

    assert is_unschedulable(pod(status=conditions()))
    for other in ({"type": "Ready"}, {"status": "True"}, {"reason": "SchedulingGated"}):
        assert not is_unschedulable(pod(status=conditions(**other)))
    assert not is_unschedulable(daemon(status=conditions()))
    assert not is_unschedulable(pod(terminating=True, status=conditions()))
    assert not is_unschedulable(pod(status={**conditions(), "nominatedNodeName": "n-1"}))


def test_of_several_nodes_that_were_seen_the_least_is_taken_of_each_thing() -> None:
    one, two = (
        knows("n-1", resources={"gpu": "2", "tpu": "9"}),
        knows("n-2", resources={"gpu": "3", "tpu": "1"}),
    )
    none = knows("n-3", resources={"gpu": "4"})
    for known in ([one, two], [two, one]):
        assert offered(known=known).free.extended == (("gpu", 2), ("tpu", 1))
    for known in ([one, none], [none, one]):
        assert offered(known=known).free.extended == (("gpu", 2),)


def test_a_pool_may_have_as_many_more_as_it_has_not_and_only_in_its_own_zones() -> None:
    pools = (Pool(subnet_ids=("subnet-a",), max_workers=5), Pool(name="gpu", subnet_ids=("subnet-b",)))
    machines = [
        instance("i-1"),
        instance("i-2", state=State.TERMINATED),
        instance("i-3", pool="gpu"),
        instance("i-4", pool="gpu"),
    ]

    first, second = simulation(instances=machines, settings=settings(pools=pools)).candidates

    assert (first.more, second.more) == (4, 10 - 3), "MAX_WORKERS is for all pools together"
    assert [room.zone for room in first.rooms] == ["a"]
    assert [room.zone for room in second.rooms] == ["b"]


def test_a_node_is_ready_if_it_says_just_that() -> None:
    def saying(**conditions: str) -> Any:
        there = node("n-1")
        said = [{"type": kind, "status": status} for kind, status in conditions.items()]
        status = msgspec.convert({"conditions": said}, type(there.status))
        return msgspec.structs.replace(there, status=status)

    assert saying(DiskPressure="False", Ready="True").is_ready
    assert not saying(DiskPressure="True", Ready="False").is_ready
    assert not saying(DiskPressure="True", Ready="Unknown").is_ready
    assert not saying(DiskPressure="True").is_ready


def test_pods_are_taken_by_a_ready_node_that_was_admitted() -> None:
    assert takes_pods(node("n-1"))
    assert takes_pods(node("n-1", taints=[{"key": "gpu", "effect": "NoSchedule"}]))
    assert not takes_pods(node("n-1", joining=True))
    assert not takes_pods(node("n-1", ready=False))


def test_only_a_provider_id_that_names_an_instance_names_a_machine() -> None:
    def known_by(provider_id: str) -> str:
        there = node("n-1", instance_id="i-label")
        spec = msgspec.structs.replace(there.spec, provider_id=provider_id)
        return instance_id_of(msgspec.structs.replace(there, spec=spec))

    assert known_by("aws:///eu-1a/i-0abc") == "i-0abc"
    assert known_by("aws:///eu-1a/fargate-x") == "i-label"
    assert known_by("gce:///zone/i-0abc") == "i-label"
    assert instance_id_of(node("n-1", instance_id="-")) == ""
