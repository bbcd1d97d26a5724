"""Whatever waits and whatever is offered: it is held, for little more than first fit would pay at most."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.scale_up.launch_plan import intents
from holdfast.autoscaler.scheduling.fit import Room
from holdfast.autoscaler.scheduling.new_nodes import Candidate
from holdfast.autoscaler.scheduling.pack import pack
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.snapshot import Need
from holdfast.cloud import Market, Offering, Prices
from holdfast.cloud.requests import Amount, requests_of
from tests.autoscaler.unit.snapshots import NOW_S, snapshot
from tests.workloads import pending

GI = 1 << 30
DEARER_MAX = 1.1
KINDS = st.tuples(st.sampled_from([100, 250, 700, 1_000, 1_900, 3_600]), st.sampled_from([1, 2, 4, 7]))
DEMAND = st.lists(st.tuples(KINDS, st.integers(1, 25)), min_size=1, max_size=5)


@st.composite
def offers(draw: st.DrawFn) -> Candidate:
    """Types of three kinds in several sizes, priced by their size and a whim of the market."""
    rooms = []
    for n, gib in enumerate(draw(st.lists(st.sampled_from([2, 4, 8]), min_size=1, max_size=3))):
        whim = draw(st.sampled_from([0.8, 1.0, 1.3]))
        for vcpus in draw(st.sets(st.sampled_from([2, 4, 8, 16, 32]), min_size=1)):
            usd = whim * vcpus * (0.0315 + gib * 0.0042)
            free = Amount(vcpus * 1_000, vcpus * gib * GI, 110)
            rooms.append((f"f{n}.{vcpus}", free, usd))
    return Candidate(
        "default",
        tuple(
            Room(name="new", free=free, zone=zone, pool="default", new=True, instance_type=name, usd=usd)
            for name, free, usd in rooms
            for zone in "ab"
        ),
    )


def first_fit(wants: list[Amount], free: Amount) -> int | None:
    """Nodes of one type, the largest first; None if one of them fits on none."""
    nodes: list[Amount] = []
    for each in sorted(wants, key=lambda w: w.cpu_m + w.memory / GI * 250, reverse=True):
        if not each.within(free):
            return None
        at = next((n for n, left in enumerate(nodes) if each.within(left)), None)
        if at is None:
            nodes.append(free - each)
        else:
            nodes[at] = nodes[at] - each
    return len(nodes)


@given(DEMAND, offers(), st.integers(1, 4))
def test_all_pods_are_held_for_little_more_than_first_fit_at_most(
    demand: list[Any], candidate: Candidate, offerings_min: int
) -> None:
    pods = [
        pending(f"p-{kind}-{n}", cpu=f"{cpu_m}m", memory=f"{gib}Gi")
        for kind, ((cpu_m, gib), count) in enumerate(demand)
        for n in range(count)
    ]
    packed = pack(pods, (), [candidate], 1_000, offerings_min=offerings_min)

    rooms = {room.name: room for room in packed.opened}
    filled: dict[str, Amount] = {name: Amount() for name in rooms}
    for placed, pod in packed.placed:
        filled[placed.room] += requests_of(pod) * placed.count
    assert all(total.within(rooms[name].free) for name, total in filled.items())
    wants = [requests_of(pod) for pod in pods]
    holds_one = [any(each.within(room.free) for room in candidate.rooms) for each in wants]
    assert sum(fate.left for fate in packed.fates) == holds_one.count(False)
    bills = [
        nodes * room.usd for room in candidate.rooms if (nodes := first_fit(wants, room.free)) is not None
    ]
    if bills:
        # The last node is whole, however little is left for it: that matters only where few are needed.
        one_more = min(room.usd for room in candidate.rooms)
        assert sum(room.usd for room in packed.opened) <= min(bills) * DEARER_MAX + one_more
    for need in packed.needs:
        assert need.types or len({room.instance_type for room in candidate.rooms}) == 1


@given(
    st.lists(st.sampled_from(["m5.large", "m5a.large", "m6i.large", "c5.large"]), min_size=1, unique=True),
    st.integers(1, 12),
    st.integers(1, 6),
    st.sampled_from(["", "a"]),
    st.lists(st.sampled_from([0.02, 0.03, 0.5]), min_size=4, max_size=4),
)
def test_a_request_is_spread_over_as_many_offerings_as_it_must(
    types: list[str], count: int, offerings_min: int, zone: str, usd: list[float]
) -> None:
    prices = Prices({Offering(z, Market.SPOT, kind): usd[n] for n, kind in enumerate(types) for z in "ab"})
    pool = Pool(instance_types=tuple(types), subnet_ids=("s-a", "s-b"))
    settings = Settings(pools=(pool,), offerings_min=offerings_min, launches_per_hour_max=99)
    need = Need("default", count, zone=zone, types=tuple(types))
    rows = intents(Cluster(), snapshot(prices=prices), need, 1, (), settings, NOW_S)

    assert sum(row.count for row in rows) == count
    zones = 1 if zone else 2
    per_zone = -(-offerings_min // zones)
    there = min(per_zone, len(types)) * zones
    assert len({row.offering for row in rows}) >= min(count, there, offerings_min)
    assert all(row.types == need.types for row in rows)
