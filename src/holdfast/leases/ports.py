"""What leases need from outside, in their own words.

Each effect names its fence: (a) idempotency key, (b) irrevocable with durable intent,
(c) server-side precondition, (d) self-fencing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from holdfast.kernel import Repository
from holdfast.leases.cap import Cap, View
from holdfast.leases.lease_rows import Lease
from holdfast.leases.rows import Rows, WorkerRow


@dataclass(frozen=True, slots=True)
class WriteRow:
    """Put the agreed cap into force at one worker, and write the worker's own row: its vote and its beat.

    Twice is once.  Fence (c): it is written over the incarnation that was found, or where there was no
    row, and never over the row of another app; a late one of this process changes nothing that its next
    beat does not set right.
    """

    row: WorkerRow
    over: str | None
    """The incarnation that was found in the row's place; None: there was no row."""
    news: bool
    """Whether it says more than that the worker lives."""

    @property
    def worker_id(self) -> str:
        return self.row.key


Effect = WriteRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One look, taken after the record was read."""

    key: str
    """Under which this worker's row stands."""
    incarnation: str
    """Of this process; empty: it looks only at its start, and never beats."""
    vote: View | None
    """None: the counts could not be had.  That is not "one worker"."""
    row: WorkerRow | None = None
    """This worker's row as it stands."""
    others: tuple[WorkerRow, ...] = ()
    """The rows of other workers that are alive."""
    steady: bool = True
    """Whether the look before this one showed the same votes: one look may be old."""
    unread: int | None = None
    """Shards that stay unread, once that has been so for a while; None: not for long enough to say."""
    leases: int = 0
    """What the living must be able to hold."""
    beats: int = 0
    """How often this process has tried to beat."""
    due: bool = False
    """Whether the row must be written whatever it says."""
    holds: int | None = None
    told: int | None = None
    version: int = 0
    commit_id: str = ""
    """Of the record that was read."""


class CapStore(Repository[Cap], Protocol):
    """The agreed cap of one app and stream, under the subject `<app>_coordinator`, and a row a worker."""

    def rows(self) -> Rows:
        """Every row of the table, strongly consistent.  Repeatable."""
        ...

    def write_row(self, effect: WriteRow, at_s: float) -> None:
        """Store the worker's own row.  Raises Conflict if another row stands there, or Busy, Unknown."""
        ...

    def delete_row(self, row: WorkerRow) -> None:
        """Delete the row if it is still this incarnation's, else raise Conflict.  Twice is once."""
        ...


class ShardCount(Protocol):
    """The stream, as far as it is counted."""

    def open_shards(self) -> int:
        """How many shards are open now, at least one.  Repeatable.

        Raises Busy if it could not be counted this time, and Invalid with the fix for a stream that is
        not there, is still being made, or may not be listed.
        """
        ...


class LeaseRows(Protocol):
    """The lease table of the KCL."""

    def leases(self) -> Sequence[Lease]:
        """All leases, ended ones too; none if there is no such table or it has another schema.  Repeatable.

        Rows of other kinds are left out, and a row that makes no sense stops nothing.  Raises Busy if it
        could not be read this time, and Invalid with the fix if it may not be read.
        """
        ...


@dataclass(frozen=True, slots=True)
class NotKnown:
    """How many workers are expected is not known.  That is never 1, and is never written."""

    why: str
    """With the grant or variable that mends it."""


class ExpectedWorkers(Protocol):
    """How many workers ought to run, as their owner says."""

    def expected(self) -> int | NotKnown:
        """At least 1, or why it is not known.  Repeatable.  Raises nothing."""
        ...
