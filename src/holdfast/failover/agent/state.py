"""All that an agent knows, in one value."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from holdfast.failover.agent.goals import Do, Goal, Hook
from holdfast.failover.agent.lease import Lease
from holdfast.failover.agent.report import Health, HookState, Record, Sync
from holdfast.failover.agent.words import Notice

LIMITS_S: Final[Mapping[Hook, float]] = {
    Hook.ON_PROMOTE: 50.0,
    Hook.ON_DEMOTE: 30.0,
    Hook.ON_FOLLOW: 600.0,
    Hook.HEALTH: 5.0,
    Hook.SYNC_STATUS: 5.0,
}


class Phase(StrEnum):
    """What becomes of the service on this machine."""

    DOWN = "down"
    """It does not serve; as a standby it may run."""
    STARTING = "starting"
    """`on-promote` runs: it may serve at any moment."""
    UP = "up"
    STOPPING = "stopping"
    """It may still serve: `on-demote` runs, or it is being killed."""


@dataclass(frozen=True, slots=True)
class Stop:
    """How far a stop has come: kill if needed, `on-demote`, then the last position."""

    killing: bool = False
    killed: bool = False
    hooked: bool = False
    """`on-demote` has ended."""
    failed: bool = False
    output: str = ""
    position: str | None = None
    reading: int = 0
    """The run of `sync-status` that reads the last position; 0: not asked yet."""
    is_told: bool = True
    """It is reported as a demotion."""


AT_BOOT: Final = Stop(hooked=True, position="", is_told=False)
"""What runs already when an agent starts is killed; no hook is asked, since nothing was promoted."""
CLEANING: Final = Stop(killing=True, killed=True)
"""Nothing serves, but the hook has not been told."""


@dataclass(frozen=True, slots=True)
class Running:
    """The changing hook that runs."""

    hook: Hook
    run: int
    epoch: int
    goal: Goal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    heartbeat_s: float = 3.0
    term_s: float = 10.0
    check_s: float = 2.0
    """How often `health` and `sync-status` are asked."""
    retry_s: float = 5.0
    """After a hook or a disk that failed."""
    register_s: float = 15.0
    """How often an agent that is not enabled asks again."""
    release_s: float = 60.0
    """How long a handover may take before the service is stopped without one."""
    limits_s: Mapping[Hook, float] = field(default_factory=lambda: LIMITS_S)

    @property
    def orderly_s(self) -> float:
        """So long before its lease ends, a service is asked to stop by its hook."""
        return self.term_s / 10


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    address: str = ""
    timing: Timing = field(default_factory=Timing)
    # Of the server.
    registered: bool = False
    registering: bool = False
    register_at_s: float = 0.0
    enabled: bool = False
    serve_reads: bool = False
    goal: Goal | None = None
    beating: bool = False
    beat_at_s: float = 0.0
    beat_sent_s: float = 0.0
    lease: Lease = field(default_factory=Lease)
    granted_sent_s: float = float("-inf")
    revoked_epoch: int = 0
    """A server said that this instance is not its primary."""
    # Of the disk.
    highest_epoch: int = 0
    stored_epoch: int = 0
    served_epoch: int = 0
    stored_served: int = 0
    storing: bool = False
    store_at_s: float = 0.0
    # Of the machine.
    phase: Phase = Phase.DOWN
    stop: Stop = Stop()
    serving_epoch: int = 0
    armed_s: float = 0.0
    hook: Running | None = None
    killing_hook: bool = False
    runs: int = 0
    checking: frozenset[int] = frozenset()
    """Runs of `health` and `sync-status` that have not ended."""
    check_at_s: float = 0.0
    check_epochs: Mapping[int, int] = field(default_factory=dict)
    """The epoch that was followed when each of these runs was started."""
    records: Mapping[Do, Record] = field(default_factory=dict)
    failure: Record | None = None
    """A promotion that failed, and is told once its remains are stopped."""
    followed: tuple[int, str, str] | None = None
    clean: bool = False
    """Nothing was served on this boot since `on-demote` ended."""
    sync: Sync = field(default_factory=Sync)
    health: Health = field(default_factory=Health)
    watchdog_ok: bool = False
    # Of the cloud.
    notices: tuple[Notice, ...] = ()
    """Not taken by the server yet."""
    known_notices: frozenset[str] = frozenset()
    sending: frozenset[str] = frozenset()
    notice_at_s: float = 0.0
    # Of the operator.
    leaving: bool = False
    release_until_s: float = 0.0
    last_beat: bool = False
    """The heartbeat under way tells that all is stopped: after it, the agent may end."""
    exited: bool = False

    @property
    def following(self) -> int:
        """The epoch whose primary this instance is, or follows."""
        if self.phase is Phase.UP:
            return self.serving_epoch
        return self.followed[0] if self.followed else 0

    def noted(self, record: Record) -> "State":
        return replace(self, records={**self.records, record.do: record})

    def state_of(self, do: Do, epoch: int) -> HookState:
        record = self.records.get(do)
        return record.state if record and record.epoch == epoch else HookState.NONE


def booted(
    *, highest_epoch: int = 0, served_epoch: int = 0, address: str = "", timing: Timing | None = None
) -> State:
    """An agent that starts for the first time on this boot: fenced."""
    return State(
        address=address,
        timing=timing or Timing(),
        highest_epoch=highest_epoch,
        stored_epoch=highest_epoch,
        served_epoch=served_epoch,
        stored_served=served_epoch,
        phase=Phase.STOPPING,
        stop=AT_BOOT,
    )
