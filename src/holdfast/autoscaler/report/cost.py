"""What the fleet costs, for people and scripts, and as figures for a monitor."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from holdfast.autoscaler.money.ledger import Ledger, Month, accrued, month_of
from holdfast.autoscaler.money.shares import FleetCost, NodeCost
from holdfast.autoscaler.report.gauges import Gauge

HOURS_A_MONTH = 730


@dataclass(frozen=True, slots=True)
class Cost:
    fleet: FleetCost
    month: str
    so_far: Month
    """Of this month, as far as ticks have seen it."""
    before: Mapping[str, Month]
    """The months before it, the newest first."""

    def as_json(self) -> dict[str, Any]:
        fleet = self.fleet
        return {
            "usd_per_hour": _cents(fleet.usd),
            "usd_per_month": _cents(fleet.usd * HOURS_A_MONTH),
            "on_demand_usd_per_hour": _cents(fleet.on_demand_usd),
            "saved_usd_per_hour": _cents(fleet.on_demand_usd - fleet.usd),
            "not_requested_usd_per_hour": _cents(fleet.wasted_usd),
            "unpriced": list(fleet.unpriced),
            "saving_unknown": list(fleet.saving_unknown),
            "month": {"name": self.month, **_month(self.so_far)},
            "before": [{"name": name, **_month(month)} for name, month in self.before.items()],
            "pools": {name: _sums(of_pool) for name, of_pool in by(fleet, lambda node: node.pool)},
            "markets": {name: _sums(of_market) for name, of_market in by(fleet, lambda node: node.market)},
            "namespaces": {name: _cents(usd) for name, usd in dearest(fleet.namespaces)},
            "workloads": [
                {"namespace": namespace, "workload": workload, "usd_per_hour": _cents(usd)}
                for (namespace, workload), usd in dearest(fleet.workloads)
            ],
            "nodes": [{**asdict(node), "wasted_usd": node.wasted_usd} for node in fleet.nodes],
        }


def cost(fleet: FleetCost, ledger: Ledger, now_s: float) -> Cost:
    now, name = accrued(ledger, now_s), month_of(now_s)
    before = {each: now.months[each] for each in sorted(now.months, reverse=True) if each != name}
    return Cost(fleet, name, now.month(name), before)


def by(fleet: FleetCost, of: Callable[[NodeCost], str]) -> Iterator[tuple[str, FleetCost]]:
    """The fleet in parts, by name."""
    for name in sorted({of(node) for node in fleet.nodes}):
        yield name, fleet.of(node for node in fleet.nodes if of(node) == name)


def dearest(costs: Mapping[Any, float]) -> list[tuple[Any, float]]:
    return sorted(costs.items(), key=lambda each: (-each[1], each[0]))


def cost_gauges(fleet: FleetCost, cluster: str) -> Iterable[Gauge]:
    """The figures that need a look at every pod: made when a monitor asks for them."""
    own = {"cluster": cluster}
    for pool, of_pool in by(fleet, lambda node: node.pool):
        for market, part in by(of_pool, lambda node: node.market):
            labels = {**own, "pool": pool, "market": market}
            yield "holdfast_cost_usd_per_hour", labels, part.usd, "What the workers cost an hour."
            saved = part.on_demand_usd - part.usd
            yield "holdfast_cost_saved_usd_per_hour", labels, saved, "Against on-demand, an hour."
            idle = "Paid for and requested by no pod, an hour."
            yield "holdfast_cost_not_requested_usd_per_hour", labels, part.wasted_usd, idle
    for namespace, usd in dearest(fleet.namespaces):
        labels = {**own, "namespace": namespace}
        yield "holdfast_cost_namespace_usd_per_hour", labels, usd, "By what the pods request, an hour."


def _sums(fleet: FleetCost) -> dict[str, Any]:
    return {
        "nodes": len(fleet.nodes),
        "usd_per_hour": _cents(fleet.usd),
        "saved_usd_per_hour": _cents(fleet.on_demand_usd - fleet.usd),
        "not_requested_usd_per_hour": _cents(fleet.wasted_usd),
    }


def _month(month: Month) -> dict[str, Any]:
    return {
        "usd": _cents(month.usd),
        "on_demand_usd": _cents(month.on_demand_usd),
        "saved_usd": _cents(month.saved_usd),
        "unseen_s": round(month.unseen_s),
    }


def _cents(usd: float) -> float:
    return round(usd, 4)
