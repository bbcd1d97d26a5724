"""Who is alive: beats of others, watched on one's own monotonic clock.  No stored time is compared.

A row that is seen for the first time is alive; so a fresh worker counts the dead for a while, and the
votes of those who know better prevail.  Only time in which this worker looked counts: one that was
stopped, or cut off from the table, must not wake up and find all others dead.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from holdfast.leases.rows import WorkerRow

NO_ROWS: Final[Mapping[str, "Sighting"]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Sighting:
    row: WorkerRow
    """The newest that was seen."""
    unmoved_s: float = 0.0
    """For how long it was looked at and had not moved."""


@dataclass(frozen=True, slots=True)
class Members:
    """What one worker has seen of all rows."""

    seen: Mapping[str, Sighting] = field(default_factory=lambda: NO_ROWS)
    looked_s: float | None = None
    """When this worker looked last, on its monotonic clock."""

    def living(self, ttl_s: float) -> Mapping[str, WorkerRow]:
        """The rows of those who are alive."""
        return {key: seen.row for key, seen in self.seen.items() if seen.unmoved_s < ttl_s}


def look(members: Members, rows: Mapping[str, WorkerRow], mono_s: float, *, gap_max_s: float) -> Members:
    """One more look.  A longer gap than `gap_max_s` since the last one counts only so much."""
    passed_s = 0.0 if members.looked_s is None else min(gap_max_s, mono_s - members.looked_s)
    seen = {}
    for key, row in rows.items():
        before = members.seen.get(key)
        if before is None or _moved(before.row, row):
            seen[key] = Sighting(row)
        else:
            newest = before.row if _is_older(row, before.row) else row
            seen[key] = Sighting(newest, before.unmoved_s + passed_s)
    return Members(seen, mono_s)


def _moved(before: WorkerRow, now: WorkerRow) -> bool:
    """Whether the worker behind this row has shown a sign of life."""
    if now.incarnation != before.incarnation:
        return True
    if now.beats:
        return now.heartbeat > before.heartbeat
    return now != before


def _is_older(row: WorkerRow, other: WorkerRow) -> bool:
    """A look may be older than the one before it."""
    return row.incarnation == other.incarnation and row.heartbeat < other.heartbeat
