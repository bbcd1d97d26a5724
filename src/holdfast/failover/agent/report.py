"""What an agent says of itself in every heartbeat, by the names of the wire."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from holdfast.failover.agent.goals import Do

OUTPUT_MAX: Final = 2_000
REASON_MAX: Final = 500


class HookState(StrEnum):
    NONE = "none"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Record:
    """What became of the hook for one goal."""

    do: Do
    epoch: int
    state: HookState
    output: str = ""
    at_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Sync:
    """What `sync-status` last said."""

    position: str = ""
    lag_s: float | None = None
    epoch: int = 0
    """Of the primary that was followed then."""
    at_s: float | None = None
    """None: it never succeeded."""


@dataclass(frozen=True, slots=True)
class Health:
    """What `health` last said."""

    healthy: bool | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The body of a heartbeat, as it is sent."""

    status: str
    hook_goal: str
    hook_epoch: int
    hook_state: str
    hook_output: str
    position: str
    lag_s: float | None
    sync_age_s: float | None
    sync_epoch: int
    healthy: bool | None
    health_reason: str
    highest_epoch: int
    served_epoch: int
    watchdog_ok: bool
    address: str
