"""Why no worker can be asked for, in words: the first of the causes that leaves no place at all."""

from collections.abc import Sequence
from typing import Final

from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.scale_up.launch_plan import bars_of, is_limited, usd_known, within_limits
from holdfast.autoscaler.scale_up.launch_slots import LaunchSlot
from holdfast.autoscaler.scale_up.offering_ranks import types_of
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.cloud import Market

NAMED_MAX: Final = 4
"""Of what is left alone, so many are named."""

Place = tuple[str, LaunchSlot]
"""With the name of its pool."""


def why_nowhere(
    cluster: Cluster, snapshot: Snapshot, pools: Sequence[str], settings: Settings, now_s: float
) -> str:
    names = list(dict.fromkeys(pools))
    broken = [
        f"pool {name}: {snapshot.pool_problems[name]}" for name in names if name in snapshot.pool_problems
    ]
    if broken:
        return "; ".join(broken)
    places = _places(snapshot, names, settings)
    if not places:
        return f"nowhere to scale up: pool {', '.join(names)} has no subnet that is known"
    barred = {one.offering: one.reason for one in cluster.unavailable if now_s < one.until_s}
    free = [place for place in places if not any(bar in barred for bar in bars_of(*place))]
    left_alone = _left_alone(places, barred)
    if not free:
        return f"nothing to be had: {left_alone} for a while"
    return (
        _too_dear(cluster, snapshot, free, settings)
        or _too_large(cluster, snapshot, free, settings)
        or _only_on_demand(free, left_alone, settings)
        or f"nowhere to scale up in pool {', '.join(names)}{left_alone and f': {left_alone} for a while'}"
    )


def _places(snapshot: Snapshot, names: Sequence[str], settings: Settings) -> list[Place]:
    """All that these pools could ask for."""
    return [
        (pool.name, LaunchSlot(place.zone, place.subnet_id, market, kind))
        for pool in settings.pools
        if pool.name in names
        for place in snapshot.places
        if place.pool == pool.name
        for market in (Market if pool.market == Market.SPOT else (Market.ON_DEMAND,))
        for kind in types_of(pool, snapshot)
    ]


def _left_alone(places: Sequence[Place], barred: dict[str, str]) -> str:
    found = sorted({bar for place in places for bar in bars_of(*place) if bar in barred})
    named = [f"{bar} ({barred[bar]})" for bar in found[:NAMED_MAX]]
    more = f" and {len(found) - NAMED_MAX} more" if len(found) > NAMED_MAX else ""
    return f"{', '.join(named)}{more} left alone" if found else ""


def _too_dear(cluster: Cluster, snapshot: Snapshot, free: Sequence[Place], settings: Settings) -> str:
    ceiling = settings.usd_per_hour_max
    if not ceiling:
        return ""
    known = [usd for _, slot in free if (usd := snapshot.prices.usd(slot.offering)) is not None]
    if not known:
        return (
            f"no price is known of what could be had, and usd_per_hour_max = {ceiling:g} needs one: "
            "give it in usd_per_hour"
        )
    if usd_known(cluster, snapshot) + min(known) > ceiling:
        return (
            f"nowhere to scale up within usd_per_hour_max = {ceiling:g} dollars an hour: "
            "raise it, or allow cheaper types"
        )
    return ""


def _too_large(cluster: Cluster, snapshot: Snapshot, free: Sequence[Place], settings: Settings) -> str:
    asked = [(pool, slot) for name, slot in free if (pool := settings.pool(name)) is not None]
    if any(within_limits([slot], pool, cluster, snapshot, ()) for pool, slot in asked):
        return ""
    limited = {pool.name: pool for pool, _ in asked if is_limited(pool)}.values()
    limits = [f"{pool.name} ({pool.vcpus_max} vcpus, {pool.memory_gib_max} GiB)" for pool in limited]
    return f"nowhere to scale up within vcpus_max and memory_gib_max of pool {', '.join(limits)}"


def _only_on_demand(free: Sequence[Place], left_alone: str, settings: Settings) -> str:
    share = settings.on_demand_max_fraction
    if share >= 1 or any(slot.market is Market.SPOT for _, slot in free):
        return ""
    return f"only on-demand is to be had, and on_demand_max_fraction is {share:g}; {left_alone} for a while"
