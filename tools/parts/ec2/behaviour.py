"""The knobs of the stand-in: how slow, how late, how forgetful."""

from dataclasses import dataclass, fields
from typing import Any

from tools.parts.ec2.api.errors import Unreasonable


@dataclass
class Behaviour:
    """Everything may be changed while it runs."""

    boot_delay_s: tuple[float, float] = (0.2, 0.5)
    """pending → running takes a time drawn from here."""
    shutdown_delay_s: tuple[float, float] = (0.2, 0.5)
    """shutting-down → terminated, and stopping → stopped."""
    answer_delay_s: tuple[float, float] = (0.0, 0.0)
    """What was asked for is done, and the answer takes a time drawn from here to arrive; but for readings."""
    lag_s: float = 0.0
    """Listings show the world as it was this long ago."""
    listings_as_of_s: float | None = None
    """Listings show the world as it was at this moment, however long ago that is."""
    forget_after_s: float = 3600.0
    """A terminated instance leaves the listings after this long."""
    terminated_token: str = "refuse"
    """A token whose instances are all gone: "refuse" (since 2025) or "return" the dead (before)."""

    def change(self, wanted: dict[str, Any]) -> None:
        known = {field.name for field in fields(self)}
        unknown = sorted(set(wanted) - known)
        if unknown:
            raise Unreasonable(f"no such behaviour: {', '.join(unknown)}; there are {', '.join(known)}")
        if wanted.get("terminated_token", "refuse") not in ("refuse", "return"):
            raise Unreasonable("terminated_token is refuse or return")
        for name, value in wanted.items():
            setattr(self, name, tuple(value) if name.endswith("delay_s") else value)
