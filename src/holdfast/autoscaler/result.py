"""What one tick came to: for logs, screens and alarms."""

from dataclasses import dataclass, field

from holdfast.autoscaler.reasons import TickOutcome
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class TickResult:
    """What one tick came to."""

    outcome: TickOutcome
    why: str = ""
    code: str = ""
    """Of a tick that begins nothing: a stable code of the reason."""
    steps: tuple[str, ...] = ()
    retry_at_s: float = 0.0
    """When there is something to do again; 0: when the next tick comes."""
    problems: tuple[str, ...] = ()
    conflicts: int = 0
    """Commits that another process was faster with."""
    cluster: Cluster | None = field(default=None, repr=False, compare=False)
    snapshot: Snapshot | None = field(default=None, repr=False, compare=False)
    """The record and the world as they were last seen, for the figures; None: it did not come to that."""

    @property
    def told(self) -> str:
        """One line for people.  An idle tick's reason stands for itself."""
        if self.outcome is TickOutcome.IDLE and self.why:
            return self.why
        return f"{self.outcome}: {self.why}" if self.why else self.outcome
