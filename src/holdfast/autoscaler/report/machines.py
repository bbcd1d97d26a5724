"""The machines that a scale-up would ask for: what they cost, and what the next best would have cost."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.autoscaler.decide import AddWorkers, Decision
from holdfast.autoscaler.ports import LaunchInstances, PrepareTemplate
from holdfast.autoscaler.record import Cluster, Launch
from holdfast.autoscaler.scale_up import action as scale_up
from holdfast.autoscaler.scale_up.offering_ranks import types_of
from holdfast.autoscaler.scheduling.machines.price import ExpectedPrices
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.workflow import Ahead
from holdfast.cloud import Offering
from holdfast.cloud.launches import Template
from holdfast.kernel import Do, Write


@dataclass(frozen=True, slots=True)
class PlannedMachine:
    pool: str
    count: int
    offering: Offering
    usd: float
    """Of one, an hour."""
    is_known: bool
    """False: the price is guessed from the size."""
    next_best: Offering | None = None
    """Another that would hold the same pods; None: there is none."""
    next_best_usd: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            "pool": self.pool,
            "count": self.count,
            **_in_json(self.offering),
            "usd_per_hour": round(self.usd, 4),
            "price_known": self.is_known,
            "next_best": {**_in_json(self.next_best), "usd_per_hour": round(self.next_best_usd, 4)}
            if self.next_best
            else None,
        }

    def __str__(self) -> str:
        guessed = "" if self.is_known else ", guessed from its size: its price is not known"
        other = f"; next best {self.next_best} at ${self.next_best_usd:.4f}" if self.next_best else ""
        return f"{self.count} x {self.offering} at ${self.usd:.4f} an hour{guessed}{other}"


def _in_json(offering: Offering) -> dict[str, str]:
    return {
        "instance_type": offering.instance_type,
        "zone": offering.zone,
        "market": offering.market.value,
    }


@dataclass(frozen=True, slots=True)
class Bill:
    machines: tuple[PlannedMachine, ...]

    @property
    def usd(self) -> float:
        return sum(each.count * each.usd for each in self.machines)

    @property
    def next_best_usd(self) -> float:
        """Had each been the next best; one that has no other counts as it is."""
        return sum(
            each.count * (each.next_best_usd if each.next_best else each.usd) for each in self.machines
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "machines": [each.as_json() for each in self.machines],
            "usd_per_hour": round(self.usd, 4),
            "next_best_usd_per_hour": round(self.next_best_usd, 4),
        }


def bill(
    cluster: Cluster, snapshot: Snapshot, settings: Settings, decision: Decision, ahead: Ahead, now_s: float
) -> Bill:
    """Of the requests that the next step makes, or that follow it once a template is made."""
    prices = ExpectedPrices(snapshot.prices, snapshot.shapes)
    rows = _rows(cluster, snapshot, settings, decision, ahead, now_s)
    return Bill(tuple(_planned(row, snapshot, settings, prices) for row in rows))


def _rows(
    cluster: Cluster, snapshot: Snapshot, settings: Settings, decision: Decision, ahead: Ahead, now_s: float
) -> Sequence[Launch]:
    if isinstance(ahead, Do):
        launches = [each.launch for each in ahead.effects if isinstance(each, LaunchInstances)]
        prepares = [each.pool for each in ahead.effects if isinstance(each, PrepareTemplate)]
        if launches or not prepares or not isinstance(decision, AddWorkers):
            return launches
        made = {pool: Template("", 0, snapshot.digests.get(pool, "")) for pool in prepares}
        ready = replace(snapshot, templates={**snapshot.templates, **made})
        begun = scale_up.begin(cluster, ready, decision.needs, decision.why, settings, now_s)
        return _intended(begun, cluster) if isinstance(begun, Write) else ()
    return _intended(ahead, cluster) if isinstance(ahead, Write) else ()


def _intended(write: Write[Cluster], cluster: Cluster) -> Sequence[Launch]:
    before = cluster.scale_up.launches if cluster.scale_up else ()
    after = write.value.scale_up.launches if write.value.scale_up else ()
    return [row for row in after if row not in before]


def _planned(row: Launch, snapshot: Snapshot, settings: Settings, prices: ExpectedPrices) -> PlannedMachine:
    others = [each for each in _alternatives(row, snapshot, settings) if each != row.offering]
    best = min(others, key=prices.usd, default=None)
    known = snapshot.prices.usd(row.offering) is not None
    machine = PlannedMachine(row.pool, row.count, row.offering, prices.usd(row.offering), known)
    return machine if best is None else replace(machine, next_best=best, next_best_usd=prices.usd(best))


def _alternatives(row: Launch, snapshot: Snapshot, settings: Settings) -> Iterable[Offering]:
    """In the same market, wherever the pool may be and its pods may go."""
    pool = settings.pool(row.pool)
    types = row.types or (types_of(pool, snapshot) if pool else ())
    zones = {place.zone for place in snapshot.places if place.pool == row.pool}
    for zone in sorted({row.zone} if row.bound else zones):
        for kind in types:
            yield Offering(zone, row.market, kind)
