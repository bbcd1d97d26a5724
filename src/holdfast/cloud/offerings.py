"""Where capacity can be asked for, and what it costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Market(StrEnum):
    SPOT = "spot"
    ON_DEMAND = "on-demand"


@dataclass(frozen=True, slots=True, order=True)
class Offering:
    """One place where capacity can be asked for."""

    zone: str
    market: Market
    instance_type: str

    def __str__(self) -> str:
        return f"{self.market}/{self.instance_type}/{self.zone}"


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars an hour, as far as they are known."""

    of: Mapping[Offering, float]

    def usd(self, offering: Offering) -> float | None:
        return self.of.get(offering)
