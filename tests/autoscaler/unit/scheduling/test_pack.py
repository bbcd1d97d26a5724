"""Where pods would go, and how many new nodes they ask for."""

from typing import Any

import pytest

from holdfast.autoscaler.scheduling.fit import HOSTNAME, HostPort, Room
from holdfast.autoscaler.scheduling.new_nodes import Candidate
from holdfast.autoscaler.scheduling.pack import pack, unplaceable
from holdfast.autoscaler.snapshot import Need
from holdfast.cloud.kubernetes import Taint
from holdfast.cloud.requests import Amount
from tests.autoscaler.unit.scheduling.test_fit import DOUBTFUL
from tests.workloads import pending, pod

GI = 1 << 30
ZONE = "topology.kubernetes.io/zone"
APART = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "apart"}}}
            ]
        }
    }
}
ALONE = {"app": "apart"}
CLAIM = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-0"}}]}
SAFE = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
SAYS = " (the scheduler: 0/3 nodes are available)"


def room(name: str = "n-1", cpu_m: int = 2_000, zone: str = "a", **said: Any) -> Room:
    usual = {"free": Amount(cpu_m, 4 * GI, 10), "labels": {ZONE: zone, HOSTNAME: name}, "pool": "default"}
    return Room(name=name, zone=zone, **{**usual, **said})


def pool(name: str = "default", *, zones: str = "abc", more: int = 100, **said: Any) -> Candidate:
    rooms = (room(f"a new node of pool {name}", zone=zone, pool=name, new=True, **said) for zone in zones)
    return Candidate(name, tuple(rooms), more)


def needs(*pods: Any, rooms: tuple[Room, ...] = (), pools: tuple[Candidate, ...] = (pool(),)) -> list[Any]:
    packed = pack(pods, rooms, pools, 1_000)
    return [(need.pool, need.count, need.zone) for need in packed.needs]


def some(count: int, name: str = "web", **said: Any) -> list[Any]:
    return [pending(f"{name}-{n}", **said) for n in range(count)]


def test_pods_fill_what_is_free_before_they_ask_for_more() -> None:
    three = some(3, cpu="900m")

    assert needs(*three, rooms=(room("n-1"), room("n-2"))) == []
    assert needs(*three, rooms=(room("n-1"),)) == [("default", 1, "")]
    assert needs(*three) == [("default", 2, "")]
    assert needs() == []


def test_the_least_of_what_a_node_has_bounds_how_many_share_it() -> None:
    assert needs(*some(40, cpu="10m", memory="1Mi")) == [("default", 4, "")], "ten pods a node"
    assert needs(*some(40, cpu="10m", memory="2Gi")) == [("default", 20, "")]
    assert needs(*some(40, cpu="1", memory="1Mi")) == [("default", 20, "")]


def test_large_pods_are_placed_first_and_small_ones_fill_the_gaps() -> None:
    mixed = [*some(2, "small", cpu="500m"), *some(2, "large", cpu="1500m")]

    assert needs(*mixed) == [("default", 2, "")]


def test_a_need_says_which_pods_it_is_for() -> None:
    packed = pack([*some(2), pending("db", cpu="1900m")], (), (pool(),), 10)

    assert packed.needs == (Need("default", 2, "shop/db, and 1 more kinds of pods"),)
    assert pack(some(3), (), (pool(),), 10).needs == (Need("default", 1, "shop/web-0 and 2 like it"),)


def test_pods_that_no_new_node_could_run_are_unsatisfiable_and_ask_for_none() -> None:
    giant = pending("giant", cpu="5", memory="8Gi")

    packed = pack([giant, *some(2)], (), (pool(),), 10)

    assert [need.count for need in packed.needs] == [1]
    assert packed.unsatisfiable == (f"shop/giant: not enough CPU: 5000m needed, 2000m free{SAYS}",)
    assert packed.promising == 2


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"nodeSelector": {"gpu": "yes"}}, "no label gpu=yes"),
        ({"nodeSelector": {ZONE: "d"}}, f"no label {ZONE}=d"),
        ({"schedulerName": "volcano"}, "volcano"),
        ({"schedulingGates": [{"name": "quota"}]}, "quota"),
        ({"resourceClaims": [{"name": "gpu"}]}, "resource claims"),
    ],
)
def test_nothing_that_a_new_node_would_not_have_makes_one(spec: dict[str, Any], why: str) -> None:
    packed = pack(some(5, spec=spec), (), (pool(),), 10)

    assert packed.needs == ()
    assert len(packed.unsatisfiable) == 1
    assert packed.unsatisfiable[0].startswith("shop/web-0 and 4 like it: ")
    assert why in packed.unsatisfiable[0]
    assert packed.promising == 0


def test_what_one_node_that_stands_would_take_is_not_unsatisfiable() -> None:
    giant = pending("giant", cpu="5")

    packed = pack([giant], (room("big", 8_000),), (pool(),), 10)

    assert packed.unsatisfiable == ()
    assert packed.needs == ()
    assert packed.promising == 0, "it waits for no new node"


def test_without_any_pool_it_says_so() -> None:
    assert pack(some(1), (), (), 10).unsatisfiable == (
        f"shop/web-0: there is no pool that could scale up{SAYS}",
    )
    unknown = Candidate("default", (), problem="EC2 gave no size for t9.huge")
    assert pack(some(1), (), (unknown,), 10).unsatisfiable == (
        f"shop/web-0: EC2 gave no size for t9.huge{SAYS}",
    )


def test_the_first_pool_that_takes_a_pod_is_asked_and_all_are_named_if_none_does() -> None:
    batch = Taint(key="dedicated", value="batch")
    pools = (pool("tainted", taints=(batch,)), pool("default"), pool("big", free=Amount(8_000, 32 * GI, 50)))

    assert needs(*some(1), pools=pools) == [("default", 1, "")]
    assert needs(*some(1, cpu="4"), pools=pools) == [("big", 1, "")]
    tolerant = {"tolerations": [{"key": "dedicated", "operator": "Exists"}]}
    assert needs(*some(1, spec=tolerant), pools=pools) == [("tainted", 1, "")]
    (why,) = pack(some(1, cpu="9"), (), pools, 10).unsatisfiable
    assert "pool tainted: taint" in why
    assert "pool default: not enough CPU" in why
    assert "pool big: not enough CPU" in why


def test_a_pool_that_is_full_is_asked_last_and_still_named_if_only_it_would_do() -> None:
    pools = (pool("first", more=0), pool("second"))

    assert needs(*some(1), pools=pools) == [("second", 1, "")]
    assert needs(*some(1), pools=pools[:1]) == [("first", 1, "")]


def test_no_more_nodes_are_opened_than_the_limit() -> None:
    packed = pack(some(50, cpu="2"), (), (pool(),), 3)

    assert [need.count for need in packed.needs] == [3]
    assert packed.fates[0].left == 47
    assert not packed.fates[0].unsatisfiable
    assert packed.promising == 50


def test_pods_that_are_bound_to_a_zone_ask_for_a_node_there() -> None:
    in_b = {"nodeSelector": {ZONE: "b"}}

    assert needs(*some(2, cpu="1500m", spec=in_b)) == [("default", 2, "b")]
    assert needs(pending(cpu="1500m", spec=in_b), *some(1, "any", cpu="400m")) == [("default", 1, "b")]
    assert needs(pending(spec=in_b), *some(1, "any", cpu="1500m")) == [("default", 1, "b")]
    assert needs(pending(spec=in_b), rooms=(room(zone="a"),)) == [("default", 1, "b")]
    assert needs(pending(spec=in_b), rooms=(room(zone="b"),)) == []


def test_pods_of_different_zones_share_no_new_node() -> None:
    bound = [pending(f"web-{zone}", spec={"nodeSelector": {ZONE: zone}}) for zone in "abc"]

    assert needs(*bound) == [("default", 1, "a"), ("default", 1, "b"), ("default", 1, "c")]


def test_where_several_zones_would_do_the_emptiest_is_asked_for() -> None:
    not_a = {"matchExpressions": [{"key": ZONE, "operator": "NotIn", "values": ["a"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [not_a]}}
    here = pending(cpu="1500m", spec={"affinity": {"nodeAffinity": required}})

    assert needs(here, rooms=(room(zone="b", cpu_m=0),)) == [("default", 1, "c")]


def test_host_ports_are_had_once_a_node() -> None:
    listening = some(3, spec={"containers": [{"ports": [{"hostPort": 80}]}]})

    assert needs(*listening) == [("default", 3, "")]
    assert needs(
        *listening, rooms=(room(), room("n-2", ports=frozenset({HostPort(80, "TCP", "0.0.0.0")})))
    ) == [("default", 2, "")]


def test_pods_that_want_to_be_apart_get_a_node_each_at_most() -> None:
    assert needs(*some(3, cpu="10m", spec=APART, labels=ALONE)) == [("default", 3, "")]
    assert needs(
        *some(3, cpu="10m", spec=APART, labels=ALONE), rooms=(room(new=True), room("n-2", new=True))
    ) == [("default", 1, "")], "nodes on their way count"


def test_pods_with_other_doubts_share_nodes() -> None:
    assert needs(*some(10, cpu="10m", spec=CLAIM)) == [("default", 1, "")]


@pytest.mark.parametrize(("spec", "doubt"), DOUBTFUL)
def test_no_second_node_is_asked_for_while_one_like_it_stands_empty(spec: dict[str, Any], doubt: str) -> None:
    """Else a pod that no node takes, for an unknown reason, would scale the fleet up to its limit."""
    here = some(3, spec=spec)
    idle = tuple(room(f"n-{zone}", zone=zone, empty=True) for zone in "abc")

    packed = pack(here, idle, (pool(),), 10)

    assert packed.needs == ()
    assert packed.unsatisfiable == (), "it is not certain that nothing would help"
    assert packed.promising == 0, "they keep no idle node of this pool or another"
    assert list(packed.in_vain) == [packed.fates[0].group.owner]
    assert packed.fates[0].why == "n-a stands empty, and the scheduler put it not even there"


def test_a_doubtful_pod_is_tried_in_each_zone_once() -> None:
    """A volume may be tied to a zone that is not seen here."""
    idle = [room(f"n-{zone}", zone=zone, empty=True) for zone in "abc"]

    assert needs(pending(spec=CLAIM)) == [("default", 1, "")]
    assert needs(pending(spec=CLAIM), rooms=(idle[0],)) == [("default", 1, "b")]
    assert needs(pending(spec=CLAIM), rooms=(idle[0], idle[1])) == [("default", 1, "c")]


@pytest.mark.parametrize(
    "no_readiness_check",
    [
        {"empty": False},
        {"empty": True, "cordoned": True},
        {"empty": True, "ready": False},
        {"empty": True, "pool": "other"},
        {"empty": True, "taints": (Taint(key="x"),)},
        {"empty": True, "free": Amount(10, GI, 10)},
    ],
)
def test_only_a_node_that_could_have_taken_it_speaks_against_another(
    no_readiness_check: dict[str, Any],
) -> None:
    idle = tuple(room(f"n-{zone}", zone=zone, **no_readiness_check) for zone in "abc")

    assert needs(pending(spec=CLAIM), rooms=idle) == [("default", 1, "")]


def test_fifty_thousand_pods_that_are_alike_are_one_question() -> None:
    many = some(50_000, cpu="500m", memory="64Mi")

    packed = pack(many, [room(f"n-{n}") for n in range(1_000)], (pool(),), 100_000)

    assert [need.count for need in packed.needs] == [11_500]
    assert len(packed.fates) == 1


def test_names_of_volumes_do_not_make_pods_different() -> None:
    pods = [
        pending(f"web-{n}", spec={"volumes": [{"name": f"kube-api-access-{n}"}, *CLAIM["volumes"]]})
        for n in range(5)
    ]
    assert len(pack(pods, (), (pool(),), 10).fates) == 1


# Leaving


def test_pods_find_other_places() -> None:
    leaving = [pod(f"web-{n}", node="n-9", cpu="900m") for n in range(4)]

    assert unplaceable(leaving, (room("n-1"), room("n-2"))) == ""
    assert unplaceable([], ()) == ""


def test_the_first_without_a_place_is_named_with_the_reasons_of_all_nodes() -> None:
    leaving = [pod(f"web-{n}", node="n-9", cpu="900m") for n in range(5)]
    rooms = (room("n-1"), room("n-2"), room("n-3", cordoned=True))

    assert unplaceable(leaving, rooms) == (
        "shop/web-0 fits on no other node: not enough CPU (2 of 3 nodes), cordoned (1 of 3 nodes)"
    )
    assert unplaceable(leaving[:1], ()) == "shop/web-0 fits on no other node: there is no other node"
    assert unplaceable(leaving[:3], rooms[:1]) == (
        "shop/web-0 fits on no other node: not enough CPU: 900m needed, 200m free"
    )


def test_two_pods_of_one_host_port_find_no_place_on_one_node() -> None:
    leaving = [
        pod(f"in-{n}", node="n-9", spec={"containers": [{"ports": [{"hostPort": 80}]}]}) for n in range(2)
    ]

    assert unplaceable(leaving, (room("n-1"), room("n-2"))) == ""
    assert "host port taken: 80" in unplaceable(leaving, (room("n-1"),))


@pytest.mark.parametrize(("spec", "doubt"), DOUBTFUL)
def test_a_pod_that_cannot_be_considered_stays_unless_a_person_vouches_for_it(
    spec: dict[str, Any], doubt: str
) -> None:
    assert doubt in unplaceable([pod(node="n-9", spec=spec)], (room(),))
    vouched = pod(node="n-9", spec=spec, annotations=SAFE)
    assert unplaceable([vouched], (room(),)) == ""
    assert "not enough CPU" in unplaceable([vouched], (room(cpu_m=50),)), "what is considered still counts"


def test_a_vouched_pod_that_waits_is_no_reason_to_believe_in_nodes_that_did_not_take_it() -> None:
    waiting = pending(spec=CLAIM, annotations=SAFE)

    assert needs(waiting, rooms=(room(),)) == [("default", 1, "")]
