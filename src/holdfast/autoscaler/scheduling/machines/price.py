"""What a machine is expected to cost, and what the pods on it are worth.

A price that is not known is guessed from the size, so that a machine without a price is neither free nor
never taken.  An offering from which machines were taken back lately counts as dearer than it is: each loss
costs a replacement and the work of a drain.
"""

from collections.abc import Mapping
from typing import Final

from holdfast.cloud import Market, Offering, Prices, Shape
from holdfast.cloud.requests import Amount

VCPU_USD: Final = 0.0315
GIB_USD: Final = 0.0042
"""About what a vCPU and a GiB cost on demand, whatever the family."""
SPOT_SHARE: Final = 0.4
POD_USD: Final = 0.000_1
"""A pod that asks for nothing is worth a place."""
LOSS_SHARE: Final = 0.15
LOSSES_MAX: Final = 6
GIB: Final = 1 << 30


def guessed_usd(shape: Shape, market: Market) -> float:
    usd = shape.cpu_m / 1_000 * VCPU_USD + shape.memory / GIB * GIB_USD
    return usd * (SPOT_SHARE if market is Market.SPOT else 1.0)


def worth(wants: Amount) -> float:
    """What the room that it takes would cost."""
    return wants.cpu_m / 1_000 * VCPU_USD + wants.memory / GIB * GIB_USD + wants.pods * POD_USD


class ExpectedPrices:
    """By offering: its price, or a guess; more, if machines of it were lost lately."""

    def __init__(
        self,
        prices: Prices,
        shapes: Mapping[str, Shape],
        losses: Mapping[str, int] | None = None,
        barred: frozenset[str] = frozenset(),
    ) -> None:
        """`losses`: how often machines of an offering were taken back lately.  `barred`: those that have no
        capacity now."""
        self._prices, self._shapes, self._losses, self._barred = prices, shapes, losses or {}, barred

    def usd(self, offering: Offering) -> float:
        known = self._prices.usd(offering)
        if known is not None:
            return known
        shape = self._shapes.get(offering.instance_type)
        return guessed_usd(shape, offering.market) if shape is not None else 0.0

    def expected(self, offering: Offering) -> float:
        """Where spot has nothing left, on-demand is what it would come to."""
        if offering.market is Market.SPOT and {str(offering), offering.quota} & self._barred:
            offering = Offering(offering.zone, Market.ON_DEMAND, offering.instance_type)
        return self.usd(offering) * self.risk(offering)

    def risk(self, offering: Offering) -> float:
        return 1.0 + LOSS_SHARE * min(self._losses.get(str(offering), 0), LOSSES_MAX)
