"""What the simulated cloud has to offer: types, prices that move, capacity that runs out."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from holdfast.cloud import MachineType, Market, Offering, Shape

GIB: Final = 1 << 30
SHAPES: Final = {
    "t3.medium": Shape(cpu_m=2_000, memory=4 * GIB, pods=17),
    "t3a.medium": Shape(cpu_m=2_000, memory=4 * GIB, pods=17),
    "m5.large": Shape(cpu_m=2_000, memory=8 * GIB, pods=29),
    "m5.xlarge": Shape(cpu_m=4_000, memory=16 * GIB, pods=58),
    "m6g.large": Shape(cpu_m=2_000, memory=8 * GIB, pods=29, architecture="arm64"),
    "m5a.large": Shape(cpu_m=2_000, memory=8 * GIB, pods=29),
    "m6i.large": Shape(cpu_m=2_000, memory=8 * GIB, pods=29),
    "c5.large": Shape(cpu_m=2_000, memory=4 * GIB, pods=29),
    "g4dn.xlarge": Shape(cpu_m=4_000, memory=16 * GIB, pods=29),
}
ON_DEMAND_USD: Final = {
    "t3.medium": 0.0416,
    "t3a.medium": 0.0376,
    "m5.large": 0.096,
    "m5.xlarge": 0.192,
    "m6g.large": 0.077,
}
STEADY_USD: Final = {"m5a.large": 0.086, "m6i.large": 0.096, "c5.large": 0.085, "g4dn.xlarge": 0.526}
"""Types whose spot price does not move."""
SPOT_DEAREST: Final = 0.9
SPOT_CHEAPEST: Final = 0.25


@dataclass
class Wares:
    """Prices and what is left of each offering."""

    random: Random
    left: dict[Offering, int] = field(default_factory=dict)
    """How many more can be had.  Not named: as many as are wanted."""
    quota: dict[str, int] = field(default_factory=dict)
    """How many instances the account may have at once, by market or by market and family of types, such as
    `spot/g`.  Not named: no limit."""
    withdrawn: set[str] = field(default_factory=set)
    """Types that are not listed any more."""
    _factor: dict[tuple[str, str], float] = field(default_factory=dict)
    _known: dict[Offering, float | None] = field(default_factory=dict)

    def take(self, offering: Offering, wanted: int) -> int:
        """How many of the wanted can be had; they are taken."""
        left = self.left.get(offering)
        if left is None:
            return wanted
        taken = min(left, wanted)
        self.left[offering] = left - taken
        return taken

    def usd(self, offering: Offering) -> float | None:
        if offering not in self._known:
            self._known[offering] = self._usd(offering)
        return self._known[offering]

    def _usd(self, offering: Offering) -> float | None:
        usd = ON_DEMAND_USD.get(offering.instance_type) or STEADY_USD.get(offering.instance_type)
        if usd is None:
            return None
        if offering.market is Market.ON_DEMAND:
            return usd
        return usd * self._factor.get((offering.instance_type, offering.zone), 0.4)

    def types(self) -> list[MachineType]:
        return [
            MachineType(
                name,
                shape,
                vcpus=shape.cpu_m // 1_000,
                memory_mib=shape.memory >> 20,
                burstable=name.startswith("t"),
                accelerated=name.startswith("g"),
            )
            for name, shape in SHAPES.items()
            if name not in self.withdrawn
        ]

    def drift(self, zones: Iterable[str]) -> None:
        """Spot prices move a little, each on its own."""
        self._known.clear()
        for zone in zones:
            for instance_type in ON_DEMAND_USD:
                now = self._factor.get((instance_type, zone), 0.4) * self.random.uniform(0.93, 1.08)
                self._factor[instance_type, zone] = min(SPOT_DEAREST, max(SPOT_CHEAPEST, now))
