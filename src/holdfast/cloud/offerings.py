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

    @property
    def quota(self) -> str:
        """The quota that it counts against: EC2 has one for each market and family of types."""
        return f"{self.market}/{quota_family(self.instance_type)}"


QUOTA_FAMILIES = frozenset({"dl", "f", "g", "hpc", "inf", "mac", "p", "trn", "u", "x"})
"""Families of types that have a quota of their own, by the letters that their names begin with."""


def quota_family(instance_type: str) -> str:
    """Which of EC2's vCPU quotas a type counts against; most families share the one called standard."""
    letters = instance_type[: len(instance_type) - len(instance_type.lstrip("abcdefghijklmnopqrstuvwxyz"))]
    letters = "g" if letters == "vt" else letters
    return letters if letters in QUOTA_FAMILIES else "standard"


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars an hour, as far as they are known."""

    of: Mapping[Offering, float]
    problem: str = ""
    """Why some are not known that were asked for, and the fix."""

    def usd(self, offering: Offering) -> float | None:
        return self.of.get(offering)
