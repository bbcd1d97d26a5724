"""What was placed really fits, whatever the pods and nodes."""

from collections import defaultdict
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.autoscaler.scheduling.fit import HostPort, Room, host_ports, misfit, refusal
from holdfast.autoscaler.scheduling.new_nodes import Candidate
from holdfast.autoscaler.scheduling.pack import Packed, pack, unplaceable
from holdfast.cloud.kubernetes import Pod, Taint
from holdfast.cloud.quantity import cpu_m, whole
from holdfast.cloud.requests import Amount, requests_of
from tests.workloads import pending

ZONE = "topology.kubernetes.io/zone"
TAINT = Taint(key="dedicated", value="x")
SPECS: list[dict[str, Any]] = [
    {},
    {"nodeSelector": {ZONE: "a"}},
    {"nodeSelector": {ZONE: "b"}},
    {"nodeSelector": {"disk": "ssd"}},
    {"tolerations": [{"key": "dedicated", "operator": "Exists"}]},
    {"volumes": [{"name": "v", "persistentVolumeClaim": {}}]},
    {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}},
    {"schedulerName": "other"},
]
REQUESTS = st.fixed_dictionaries(
    {"cpu": st.sampled_from(["0", "100m", "700m", "1", "3"]), "memory": st.sampled_from(["0", "1Gi", "3Gi"])},
    optional={"gpu": st.sampled_from(["1", "2"])},
)
KINDS = st.tuples(REQUESTS, st.sampled_from(SPECS), st.sampled_from([0, 0, 0, 80, 443]), st.integers(1, 12))


def pods_of(kinds: list[tuple[dict[str, str], dict[str, Any], int, int]]) -> list[Pod]:
    return [
        pending(
            f"p-{kind}-{n}",
            spec={
                "containers": [{"resources": {"requests": requests}, "ports": [{"hostPort": port}]}],
                **spec,
            },
        )
        for kind, (requests, spec, port, count) in enumerate(kinds)
        for n in range(count)
    ]


PODS = st.lists(KINDS, max_size=6).map(pods_of)
AMOUNTS = st.builds(
    Amount,
    st.sampled_from([-200, 0, 500, 2_000, 4_000]),
    st.sampled_from([-1, 0, 1 << 30, 4 << 30]),
    st.integers(0, 9),
    st.sampled_from([(), (("gpu", 3),)]),
)
LABELS = st.sampled_from([{}, {"disk": "ssd"}])
TAINTS = st.sampled_from([(), (TAINT,)])


@st.composite
def rooms(draw: st.DrawFn) -> list[Room]:
    return [
        Room(
            name=f"n-{n}",
            free=draw(AMOUNTS),
            labels={ZONE: (zone := draw(st.sampled_from("abc"))), **draw(LABELS)},
            taints=draw(TAINTS),
            zone=zone,
            pool="default",
            ports=draw(st.sampled_from([frozenset(), frozenset({HostPort(80, "TCP", "0.0.0.0")})])),
            cordoned=draw(st.booleans()),
            ready=draw(st.booleans()),
            empty=draw(st.booleans()),
            new=draw(st.booleans()),
        )
        for n in range(draw(st.integers(0, 6)))
    ]


@st.composite
def candidates(draw: st.DrawFn) -> list[Candidate]:
    found = []
    for name in ("default", "other")[: draw(st.integers(0, 2))]:
        free, labels, taints = draw(AMOUNTS), draw(LABELS), draw(TAINTS)
        places = tuple(
            Room(
                name="new",
                free=free,
                labels={ZONE: zone, **labels},
                taints=taints,
                zone=zone,
                pool=name,
                new=True,
            )
            for zone in draw(st.sampled_from(["a", "ab", "abc"]))
        )
        found.append(Candidate(name, places, more=draw(st.integers(0, 2))))
    return found


def check(packed: Packed, given_rooms: list[Room]) -> None:
    room_called = {room.name: room for room in (*given_rooms, *packed.opened)}
    filled: dict[str, list[tuple[Pod, int]]] = defaultdict(list)
    for placed, pod in packed.placed:
        assert placed.count > 0
        filled[placed.room].append((pod, placed.count))
    for name, placed_here in filled.items():
        room, total, ports = room_called[name], Amount(), set[HostPort]()
        for pod, count in placed_here:
            assert misfit(pod, room) == ""
            total += requests_of(pod) * count
            if wanted := host_ports(pod):
                assert count == 1
                assert not ports & wanted
                ports |= wanted
        for what in ("cpu_m", "memory", "pods"):
            assert getattr(total, what) <= max(0, getattr(room.free, what)), (name, what)
        has = dict(room.free.extended)
        assert all(amount <= has.get(what, 0) for what, amount in total.extended)


@given(PODS, rooms(), candidates(), st.integers(0, 20))
def test_what_was_placed_fits_and_no_pod_is_lost(
    pods: list[Pod], given_rooms: list[Room], pools: list[Candidate], limit: int
) -> None:
    packed = pack(pods, given_rooms, pools, limit)

    check(packed, given_rooms)
    counted = [(sum(p.count for p in fate.placed) + fate.left, len(fate.group.pods)) for fate in packed.fates]
    assert all(accounted == there for accounted, there in counted)
    assert sum(there for _, there in counted) == len(pods)
    assert sum(need.count for need in packed.needs) == len(packed.opened)
    for fate in packed.fates:
        could = any(not refusal(fate.group.example, room) for pool in pools for room in pool.rooms)
        assert fate.unsatisfiable == (fate.left > 0 and not could)
        assert bool(fate.why) == (fate.left > 0)


@given(PODS, rooms(), candidates())
def test_every_new_node_has_a_pod_and_is_wanted_in_a_zone_where_it_can_be(
    pods: list[Pod], given_rooms: list[Room], pools: list[Candidate]
) -> None:
    packed = pack(pods, given_rooms, pools, 100)
    used = {placed.room for placed, _ in packed.placed}

    assert {room.name for room in packed.opened} <= used
    for need in packed.needs:
        (pool,) = [each for each in pools if each.pool == need.pool]
        assert need.zone in ("", *(room.zone for room in pool.rooms))


@given(PODS, rooms())
def test_pods_have_a_place_exactly_if_each_was_given_one(pods: list[Pod], given_rooms: list[Room]) -> None:
    packed = pack(pods, given_rooms, [], 0)

    assert (unplaceable(pods, given_rooms) == "") == all(fate.left == 0 for fate in packed.fates)


@given(st.integers(0, 10**12), st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "Gi"]))
def test_quantities_keep_their_order_and_their_sums(number: int, suffix: str) -> None:
    assert whole(f"{number + 1}{suffix}") >= whole(f"{number}{suffix}")
    assert cpu_m(f"{number}m") == number
    assert whole(f"{number}Ki") == 1024 * whole(str(number))
