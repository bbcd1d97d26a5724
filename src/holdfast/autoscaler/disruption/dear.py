"""Workers that cost more than a new one that would do: an on-demand one of scarcer days, or a type too large.

Only where prices are known, and only if it saves `saving_min` of what the worker costs.  The ceiling goes
with the request: wherever it is asked for, it costs no more.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.autoscaler.fleet import reliable
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.scale_up.offering_ranks import types_of
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot, Worker
from holdfast.cloud import Market, Offering


@dataclass(frozen=True, slots=True)
class Saving:
    worker: Worker
    usd: float
    """What it costs an hour."""
    usd_max: float
    """What its replacement may cost."""
    offerings: tuple[Offering, ...]
    """Where it would be had for that, the cheapest first."""
    cheapest: float

    @property
    def why(self) -> str:
        return f"dear: it costs {self.usd:.4g} dollars an hour, and {self.offerings[0]} {self.cheapest:.4g}"


def savings(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Iterator[Saving]:
    """Those that may be had, the greatest first."""
    rules = settings.disruption
    if not rules.consolidation or not rules.saving_min:
        return
    barred = {one.offering for one in cluster.unavailable if now_s < one.until_s}
    found = [
        saving
        for worker in reliable(cluster, snapshot)
        if worker.ours and (saving := _saving(worker, snapshot, settings, barred)) is not None
    ]
    yield from sorted(found, key=lambda each: (each.cheapest - each.usd, each.worker.instance_id))


def _saving(worker: Worker, snapshot: Snapshot, settings: Settings, barred: set[str]) -> Saving | None:
    usd, pool = snapshot.usd_of(worker), settings.pool(worker.instance.pool)
    if usd is None or pool is None:
        return None
    usd_max = usd * (1 - settings.disruption.saving_min)
    markets = (Market.SPOT, Market.ON_DEMAND) if pool.market == Market.SPOT else (Market.ON_DEMAND,)
    every = (
        Offering(worker.instance.zone, market, kind)
        for kind in types_of(pool, snapshot)
        for market in markets
    )
    priced = [(price, each) for each in every if (price := snapshot.prices.usd(each)) is not None]
    fit = sorted((price, each) for price, each in priced if price <= usd_max and str(each) not in barred)
    if not fit:
        return None
    return Saving(worker, usd, usd_max, tuple(each for _, each in fit), fit[0][0])


def is_cheaper(saving: Saving, snapshot: Snapshot) -> bool:
    """Whether one of these would hold its pods."""
    types = snapshot.types_for(saving.worker.instance_id)
    return not types or any(offering.instance_type in types for offering in saving.offerings)
