"""The alarm: more shards than the caps in force at living workers add up to.

For a KCL every lease row counts, because every row fills its cap.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from holdfast.cloud.text import counted
from holdfast.kernel import Event
from holdfast.leases.cap import Cap, View
from holdfast.leases.events import LeaseEvent
from holdfast.leases.rows import WorkerRow


@dataclass(frozen=True, slots=True)
class Alarm:
    """Whether shards stay unread, and for how long one worker has seen it so."""

    unread: int = 0
    since_s: float | None = None
    """On its monotonic clock; None before the first look."""

    def seen(self, unread: int, mono_s: float) -> "Alarm":
        """One more look.  A number that only changes was so before."""
        steady = self.since_s is not None and bool(self.unread) == bool(unread)
        return replace(self, unread=unread, since_s=self.since_s if steady else mono_s)

    def lasted_s(self, mono_s: float) -> float:
        return 0.0 if self.since_s is None else mono_s - self.since_s


def leases_to_hold(shards: int, lease_rows: int, living: Iterable[WorkerRow]) -> int:
    """What the living must be able to hold; with a KCL among them, every lease row."""
    return max(shards, lease_rows) if any(row.told is not None for row in living) else shards


def unread_now(view: View, lease_rows: int, living: Iterable[WorkerRow]) -> int:
    """How many are beyond what the living may hold, or beyond what the agreement itself allows for."""
    workers = tuple(living)
    beyond = leases_to_hold(view.shards, lease_rows, workers) - sum(row.in_force for row in workers)
    return max(beyond, view.unread)


def workers_needed(leases: int, limit: int) -> int:
    """How many workers would leave no shard unread."""
    return max(1, -(-leases // limit))


def unread_event(view: View, unread: int, leases: int, about: str, now_s: float) -> Event:
    needed = workers_needed(leases, view.limit)
    wanted = f"{counted(needed, 'worker')} needed at {counted(view.limit, 'lease')} each"
    why = f"{unread} of {leases} are beyond what the living workers may hold; {wanted}"
    return Event(
        LeaseEvent.SHARDS_UNREAD,
        now_s,
        about=about,
        reason=why,
        numbers={"unread": unread, "workers_needed": needed},
    )


def read_event(cap: Cap, about: str, now_s: float) -> Event:
    return Event(LeaseEvent.SHARDS_READ, now_s, about=about, numbers={"unread_before": cap.unread})
