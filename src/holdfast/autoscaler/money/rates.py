"""What the fleet costs an hour, and what the same machines would cost on-demand."""

from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.cloud import ALIVE, Instance, Market, Offering, Prices


@dataclass(frozen=True, slots=True)
class Rates:
    """Dollars an hour."""

    usd: float
    on_demand_usd: float
    """Of the same machines, on-demand.  Where that price is not known, what is paid."""
    unpriced: tuple[str, ...] = ()
    """Machines whose price is not known: they are in neither sum."""

    @property
    def saved_usd(self) -> float:
        return self.on_demand_usd - self.usd


def price(instance: Instance, prices: Prices) -> float | None:
    return prices.usd(Offering(instance.zone, instance.market, instance.instance_type))


def on_demand_price(instance: Instance, prices: Prices) -> float | None:
    return prices.usd(Offering(instance.zone, Market.ON_DEMAND, instance.instance_type))


def rates(instances: Iterable[Instance], prices: Prices) -> Rates:
    usd = on_demand_usd = 0.0
    unpriced: list[str] = []
    for instance in instances:
        if instance.state not in ALIVE:
            continue
        paid = price(instance, prices)
        if paid is None:
            unpriced.append(instance.instance_id)
            continue
        otherwise = on_demand_price(instance, prices)
        usd += paid
        on_demand_usd += paid if otherwise is None else otherwise
    return Rates(round(usd, 6), round(on_demand_usd, 6), tuple(unpriced))
