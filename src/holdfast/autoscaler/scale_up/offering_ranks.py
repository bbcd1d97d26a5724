"""In which order offerings are asked: by price, and those from which machines were taken back lately later.

Price alone never puts everything on one offering: a request is spread over the first few, `offerings_min` of
them with its zones, and a type that the fleet has few of comes before one that it has many of.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.scheduling.machines.price import ExpectedPrices
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.snapshot import Need, Snapshot
from holdfast.cloud import Market, Offering, Prices, Shape

RECLAIMED: Final = "being reclaimed"
"""Why an offering is left alone from which the cloud takes machines back, or hints that it may."""
LOSSES_KEPT_S: Final = 21_600
"""So long after that it counts as dearer than it is."""

TypesAt = Callable[[str, Market], Sequence[str]]
"""The types to ask for in a zone and market, the best first."""


def losses(cluster: Cluster) -> dict[str, int]:
    """How often the cloud took machines of an offering back lately, or hinted at it."""
    return {one.offering: one.times for one in cluster.unavailable if one.reason == RECLAIMED}


def expected_prices(
    cluster: Cluster, prices: Prices, shapes: Mapping[str, Shape], now_s: float
) -> ExpectedPrices:
    barred = frozenset(one.offering for one in cluster.unavailable if now_s < one.until_s)
    return ExpectedPrices(prices, shapes, losses(cluster), barred)


def types_of(pool: Pool, snapshot: Snapshot) -> tuple[str, ...]:
    """Those that the pool names, or that its requirements come to now."""
    return snapshot.types.get(pool.name, pool.instance_types)


def goes_by_list(need: Need, pool: Pool) -> bool:
    """Types that a person listed, and that no pod narrows, keep the order of the list."""
    return not need.types and pool.requirements is None


def types_at(need: Need, pool: Pool, cluster: Cluster, snapshot: Snapshot) -> TypesAt:
    if goes_by_list(need, pool):
        return lambda zone, market: pool.instance_types
    types = need.types or types_of(pool, snapshot)
    prices = ExpectedPrices(snapshot.prices, snapshot.shapes, losses(cluster))
    known: dict[tuple[str, Market], Sequence[str]] = {}

    def at(zone: str, market: Market) -> Sequence[str]:
        if (zone, market) not in known:
            known[zone, market] = sorted(
                types, key=lambda kind: prices.expected(Offering(zone, market, kind))
            )
        return known[zone, market]

    return at


def width(need: Need, pool: Pool, zones: int, settings: Settings) -> Callable[[Market], int]:
    """Over how many types a request is spread in each zone: only spot is taken back."""
    types = 1 if goes_by_list(need, pool) else -(-settings.offerings_min // max(1, zones))
    return lambda market: types if market is Market.SPOT else 1
