"""One instance as the stand-in keeps it: its state, and what it was at every earlier moment."""

from dataclasses import dataclass, field
from typing import Any

ALIVE = ("pending", "running", "stopping", "stopped")
GONE = ("shutting-down", "terminated")


@dataclass(frozen=True)
class Moment:
    """How the instance looked from `at_s` on."""

    at_s: float
    state: str
    tags: dict[str, str]


@dataclass
class Tracked:
    region: str
    moto: Any
    market: str
    past: list[Moment] = field(default_factory=list)
    role: str | None = None
    console: str = ""
    marked_at: str = ""
    """When its spot request was marked, as AWS writes it; empty: it has no notice."""

    @property
    def id(self) -> str:
        return str(self.moto.id)

    @property
    def state(self) -> str:
        return self.past[-1].state

    @property
    def zone(self) -> str:
        return str(self.moto.placement.zone)

    @property
    def spot_request(self) -> str | None:
        return getattr(self.moto, "spot_instance_request_id", None)

    def at(self, moment_s: float) -> Moment | None:
        """How it looked then; None if it was not there yet."""
        earlier = [moment for moment in self.past if moment.at_s <= moment_s]
        return earlier[-1] if earlier else None

    def forgotten(self, moment_s: float, after_s: float) -> bool:
        """Whether it has been terminated for so long that listings leave it out."""
        return self.state == "terminated" and self.past[-1].at_s + after_s < moment_s
