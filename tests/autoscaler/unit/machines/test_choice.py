"""Which machine holds what waits for least."""

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.autoscaler.scheduling.cheapest import Cheapest, cheapest
from holdfast.autoscaler.scheduling.fit import Room
from holdfast.autoscaler.scheduling.machines.price import ExpectedPrices, guessed_usd
from holdfast.autoscaler.scheduling.new_nodes import Candidate
from holdfast.autoscaler.scheduling.pack import Packed, pack
from holdfast.cloud import Market, Offering, Prices, Shape
from holdfast.cloud.kubernetes import Pod
from holdfast.cloud.requests import Amount
from tests.workloads import pending

GI = 1 << 30
SIZES: Mapping[str, tuple[int, int, float]] = {
    "c.large": (2, 4, 0.085),
    "c.4xlarge": (16, 32, 0.68),
    "m.large": (2, 8, 0.096),
    "m.xlarge": (4, 16, 0.192),
    "m.4xlarge": (16, 64, 0.768),
    "r.large": (2, 16, 0.126),
    "r.2xlarge": (8, 64, 0.504),
}
"""vCPUs, GiB, and dollars an hour."""


def offers(*types: str, pool: str = "default", zones: str = "ab", **said: Any) -> Candidate:
    usd = said.pop("usd", {})
    rooms = tuple(
        Room(
            name="new",
            free=Amount(SIZES[kind][0] * 1_000, SIZES[kind][1] * GI, 110),
            labels={"topology.kubernetes.io/zone": zone},
            zone=zone,
            pool=pool,
            new=True,
            instance_type=kind,
            usd=usd.get(kind, SIZES[kind][2]),
        )
        for kind in types or SIZES
        for zone in zones
    )
    return Candidate(pool, rooms, **said)


def some(count: int, cpu: str, memory: str, name: str = "web") -> list[Pod]:
    return [pending(f"{name}-{n}", cpu=cpu, memory=memory) for n in range(count)]


def bill(packed: Packed) -> float:
    return sum(room.usd for room in packed.opened)


def asked(packed: Packed) -> list[tuple[str, str, int]]:
    return [(need.pool, need.types[0], need.count) for need in packed.needs]


def test_pods_get_the_machines_that_fit_their_kind() -> None:
    assert asked(pack(some(8, "950m", "1Gi"), (), [offers()], 99)) == [("default", "c.large", 4)]
    assert asked(pack(some(2, "1", "7Gi"), (), [offers()], 99)) == [("default", "r.large", 1)]
    balanced = asked(pack(some(40, "1", "3500Mi"), (), [offers()], 99))
    assert all(kind.startswith("m.") for _, kind, _ in balanced)
    assert sum(count * SIZES[kind][0] for _, kind, count in balanced) == 40, "and none is half empty"


def test_the_last_node_is_no_larger_than_what_is_left_for_it() -> None:
    packed = pack(some(17, "1", "3500Mi"), (), [offers("m.4xlarge", "m.large")], 99)

    assert sorted(room.instance_type for room in packed.opened).count("m.4xlarge") <= 1
    assert bill(packed) <= 9 * 0.096 + 0.001


def test_where_few_nodes_may_be_had_they_are_large_enough() -> None:
    packed = pack(some(32, "1", "1Gi"), (), [offers("c.large", "c.4xlarge", more=2)], 99)

    assert asked(packed) == [("default", "c.4xlarge", 2)]


def test_a_request_names_every_type_that_would_hold_the_pods_the_cheapest_first() -> None:
    (need,) = pack(some(1, "1500m", "6Gi"), (), [offers()], 99).needs

    assert need.types == ("m.large", "r.large", "m.xlarge", "r.2xlarge", "c.4xlarge", "m.4xlarge")
    assert pack(some(1, "1", "1Gi"), (), [offers("m.large")], 99).needs[0].types == (), "there is no choice"


def test_the_cheapest_pool_is_asked_and_a_heavier_one_before_it() -> None:
    dear, cheap = offers("m.xlarge", pool="dear"), offers("m.large", pool="cheap", usd={"m.large": 0.03})
    pods = some(2, "900m", "1Gi")

    assert pack(pods, (), [dear, cheap], 99).needs[0].pool == "cheap"
    heavy = offers("m.xlarge", pool="dear", weight=1)
    assert pack(pods, (), [cheap, heavy], 99).needs[0].pool == "dear"
    full = offers("m.xlarge", pool="dear", weight=1, more=0)
    assert pack(pods, (), [full, cheap], 99).needs[0].pool == "cheap"


def test_a_node_that_is_opened_anyway_is_filled_before_another_is() -> None:
    big, small = offers("r.2xlarge", pool="big"), offers("c.large", pool="small")
    packed = pack([*some(1, "4", "40Gi", "db"), *some(3, "1", "1Gi")], (), [small, big], 99)

    assert [need.pool for need in packed.needs] == ["big"]


def test_pods_that_must_stand_apart_get_small_machines() -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    pods = [pending(f"db-{n}", cpu="1", memory="1Gi", labels={"app": "db"}, spec=apart) for n in range(3)]

    assert asked(pack(pods, (), [offers()], 99)) == [("default", "c.large", 3)]


def test_the_cheapest_machine_for_some_pods_is_told_with_its_price() -> None:
    dear = offers("m.large", pool="dear", market=Market.ON_DEMAND, usd={"m.large": 0.2})
    pods = some(3, "600m", "2Gi")

    assert cheapest(pods, [dear, offers()]) == Cheapest("default", "m.large", "a", Market.SPOT, 0.096)
    assert cheapest(some(1, "17", "1Gi"), [offers()]) is None
    assert cheapest(pods, [offers(more=0)]) is None


def test_prices_that_are_not_known_are_guessed_from_the_size_and_losses_make_dearer() -> None:
    large, huge = Shape(2_000, 8 * GI), Shape(16_000, 64 * GI)
    spot = Offering("a", Market.SPOT, "m.large")
    prices = ExpectedPrices(Prices({spot: 0.03}), {"m.large": large, "m.4xlarge": huge}, {str(spot): 2})

    assert prices.usd(spot) == 0.03
    assert 0.035 < prices.expected(spot) < 0.05
    unknown = Offering("b", Market.SPOT, "m.large")
    assert prices.usd(unknown) == guessed_usd(large, Market.SPOT) < guessed_usd(large, Market.ON_DEMAND)
    assert prices.usd(Offering("b", Market.SPOT, "m.4xlarge")) > 7 * prices.usd(unknown)


def test_where_spot_has_nothing_left_it_is_priced_as_on_demand() -> None:
    spot, own = Offering("a", Market.SPOT, "m.large"), Offering("a", Market.ON_DEMAND, "m.large")
    known = Prices({spot: 0.03, own: 0.1})

    assert ExpectedPrices(known, {}, barred=frozenset({str(spot)})).expected(spot) == 0.1
    assert ExpectedPrices(known, {}, barred=frozenset({"spot/standard"})).expected(spot) == 0.1


def priced(*usd: float) -> Sequence[Candidate]:
    return [offers("m.large", pool=f"p{n}", usd={"m.large": each}) for n, each in enumerate(usd)]


def test_pools_that_cost_the_same_come_as_they_are_written() -> None:
    assert pack(some(1, "1", "1Gi"), (), priced(0.1, 0.1), 9).needs[0].pool == "p0"
    assert pack(some(1, "1", "1Gi"), (), priced(0.2, 0.1, 0.1), 9).needs[0].pool == "p1"
