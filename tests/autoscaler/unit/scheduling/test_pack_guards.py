"""What may not share a node, and which pods are placed first, guard by guard."""

from typing import Any

from holdfast.autoscaler.scheduling.fit import host_ports, shortage
from holdfast.autoscaler.scheduling.match import meets, tolerates
from holdfast.autoscaler.scheduling.new_nodes import Candidate
from holdfast.autoscaler.scheduling.pack import pack, unplaceable
from holdfast.autoscaler.scheduling.pod_groups import PodTemplates, group_pods, largest_first, owner_of
from holdfast.autoscaler.scheduling.topology import Topology
from holdfast.cloud.kubernetes import Requirement, Taint, Toleration
from holdfast.cloud.requests import Amount, requests_of
from tests.autoscaler.unit.scheduling.test_pack import (
    ALONE,
    APART,
    CLAIM,
    SAFE,
    ZONE,
    needs,
    pool,
    room,
    some,
)
from tests.workloads import pod


def listening(port: int, cpu: str = "100m") -> dict[str, Any]:
    requests = {"requests": {"cpu": cpu}}
    return {"containers": [{"resources": requests, "ports": [{"hostPort": port}]}]}


def test_pods_of_two_kinds_that_want_one_port_share_no_node() -> None:
    web, api = some(1, "web", spec=listening(80)), some(1, "api", spec=listening(80, "200m"))
    other = some(1, "other", spec=listening(443, "300m"))

    assert needs(*web, *api) == [("default", 2, "")]
    assert needs(*web, *other) == [("default", 1, "")]


def test_a_free_port_is_no_room_for_a_pod() -> None:
    (greedy,) = some(1, spec=listening(80, "900m"))

    assert needs(greedy, rooms=(room("n-1", 800),)) == [("default", 1, "")]
    assert needs(greedy, rooms=(room("n-1", 900),)) == []


def test_pods_that_stand_apart_share_no_new_node_whatever_pod_came_between() -> None:
    first = some(1, "first", cpu="900m", spec=APART, labels=ALONE)
    between = some(1, "between", cpu="500m")
    second = some(1, "second", cpu="100m", spec=APART, labels=ALONE)

    assert needs(*first, *between) == [("default", 1, "")]
    assert needs(*first, *second) == [("default", 2, "")]
    assert needs(*first, *between, *second) == [("default", 2, "")]
    assert needs(*some(1, "tight", cpu="2100m", spec=APART, labels=ALONE)) == [], "apart is no room either"


def test_a_person_may_vouch_for_what_is_not_known_and_for_nothing_else() -> None:
    two = [pod(f"db-{n}", node="n-9", annotations=SAFE, spec=CLAIM) for n in range(2)]
    assert unplaceable(two, [room("n-1")]) == ""
    assert unplaceable([pod("db-0", node="n-9", spec=CLAIM)], [room("n-1")]) != ""

    apart = [pod(f"web-{n}", node="n-9", annotations=SAFE, spec=APART, labels=ALONE) for n in range(2)]
    assert "pod anti-affinity" in unplaceable(apart, [room("n-1")])


def test_the_largest_are_those_whose_share_of_either_is_large() -> None:
    kinds = {
        "both": {"cpu": "1000m", "memory": "4Gi"},
        "memory": {"cpu": "10m", "memory": "8Gi"},
        "cpu": {"cpu": "900m", "memory": "1Mi"},
        "small": {"cpu": "300m", "memory": "2Gi"},
    }

    pods = [pod(name, requests=wants) for name, wants in kinds.items()]
    ordered = largest_first(group_pods(PodTemplates(pods), Topology()))

    assert [group.example.metadata.name for group in ordered] == ["both", "memory", "cpu", "small"]


def test_a_pod_that_asks_for_nothing_finds_room_where_too_much_was_promised() -> None:
    overdrawn = Amount(-100, -100, 1)

    assert shortage(Amount(0, 0, 1), overdrawn) == ""
    assert "CPU" in shortage(Amount(1, 0, 1), overdrawn)
    assert "memory" in shortage(Amount(0, 1, 1), overdrawn)
    assert shortage(Amount(0, 0, 2), overdrawn) == "no place for another pod"


def test_nothing_fits_less_than_not_at_all() -> None:
    """A node may have promised more than it has: to put fewer than none there would make room."""
    for wants, free in (
        (Amount(200, 0, 1), Amount(-100, 0, 5)),
        (Amount(0, 200, 1), Amount(0, -100, 5)),
        (Amount(0, 0, 1), Amount(0, 0, -3)),
        (Amount(0, 0, 1, (("gpu", 1),)), Amount(0, 0, 5, (("gpu", -2),))),
    ):
        assert wants.times_within(free, 9) == 0


def test_an_overhead_may_be_of_something_that_no_container_asks_for() -> None:
    assert requests_of(pod(requests={"cpu": "1"}, spec={"overhead": {"memory": "1Ki"}})) == Amount(
        1_000, 1_024, 1
    )


def test_the_ports_of_init_containers_count_and_ports_inside_the_pod_do_not() -> None:
    sidecar = {"initContainers": [{"restartPolicy": "Always", "ports": [{"hostPort": 80}]}]}
    inside = {"containers": [{"ports": [{"containerPort": 80}]}]}

    assert {port.number for port in host_ports(pod(spec=sidecar))} == {80}
    assert host_ports(pod(spec=inside)) == frozenset()


def test_only_one_whole_number_can_be_compared_with() -> None:
    for values, met in ((("7",), True), (("8",), False), ((), False), (("7", "7"), False), (("x",), False)):
        assert meets(Requirement("cpus", "Gt", values), {"cpus": "8"}) is met


def test_a_toleration_of_an_unknown_operator_tolerates_nothing() -> None:
    taint = Taint("team", "shop", "NoSchedule")

    assert tolerates(Toleration(key="team", value="shop"), taint)
    assert tolerates(Toleration(key="team", operator="Equal", value="shop"), taint)
    assert not tolerates(Toleration(key="team", operator="Gt", value="shop"), taint)


def test_an_empty_node_that_fills_up_stops_no_scale_up_for_pods_without_a_doubt() -> None:
    idle = (room("n-1", empty=True),)

    assert needs(*some(15), rooms=idle, pools=(pool(zones="a"),)) == [("default", 1, "")]


def test_a_node_that_is_still_to_come_is_not_one_that_the_scheduler_left_empty() -> None:
    coming = (room("on its way", empty=True, new=True),)

    two = some(2, cpu="1500m", spec=CLAIM)
    assert needs(*two, rooms=coming, pools=(pool(zones="a"),)) == [("default", 1, "")]
    standing = (room("n-1", empty=True),)
    assert needs(*two, rooms=standing, pools=(pool(zones="a"),)) == []


def test_a_pool_that_may_bring_too_few_says_so() -> None:
    packed = pack(some(25), (), (pool(zones="a"),), 2)

    assert [(need.count, fate.left) for need, fate in zip(packed.needs, packed.fates, strict=True)] == [
        (2, 5)
    ]
    assert packed.fates[0].why == "pool default would have to scale up by more than 2"
    assert pack(some(20), (), (pool(zones="a"),), 2).fates[0].why == ""


def in_zones(*zones: str) -> dict[str, Any]:
    expression = {"key": ZONE, "operator": "In", "values": list(zones)}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def test_a_new_node_is_one_of_a_zone_that_its_pods_may_run_in() -> None:
    small, large = room("small", 500, "a", new=True), room("large", 4_000, "b", new=True)
    uneven = Candidate("default", (small, large))

    packed = pack(some(2, cpu="3", spec=in_zones("b")), (), (uneven,), 5)

    assert [(need.count, need.zone) for need in packed.needs] == [(2, "b")]
    assert [(each.name, each.zone) for each in packed.opened] == [
        ("new node 1 of pool default", "b"),
        ("new node 2 of pool default", "b"),
    ]


def test_pods_that_may_run_in_some_zones_are_spread_over_those() -> None:
    pods = some(3, cpu="1500m", spec=in_zones("b", "c"))

    assert needs(*pods) == [("default", 2, "b"), ("default", 1, "c")]
    assert needs(*pods, rooms=(room("n-1", 0, "b"),)) == [("default", 1, "b"), ("default", 2, "c")]


def test_pods_that_a_node_did_not_help_ask_for_none_if_there_is_a_doubt_about_them() -> None:
    def asked(pods: list[Any], *left_alone: str) -> int:
        packed = pack(pods, (), (pool(),), 10, left_alone=frozenset(left_alone))
        return sum(need.count for need in packed.needs)

    doubtful, plain = some(1, spec=CLAIM), some(1)
    owner = owner_of(doubtful[0])
    assert (asked(doubtful), asked(doubtful, owner), asked(doubtful, "another")) == (1, 0, 1)
    assert asked(plain, owner_of(plain[0])) == 1, "a new node will help these"
