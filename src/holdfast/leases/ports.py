"""What leases need from outside, in their own words.

Each effect names its fence: (a) idempotency key, (b) irrevocable with durable intent,
(c) server-side precondition, (d) self-fencing.
"""

from dataclasses import dataclass
from typing import Protocol

from holdfast.kernel import Repository
from holdfast.leases.cap import Cap, View


@dataclass(frozen=True, slots=True)
class Apply:
    """Put the agreed cap into force at one worker, and store it in the worker's own row.

    Twice is once.  Fence (c): the row keeps the shard and worker counts that the cap
    follows from, and only the worker itself writes it; a late one is its own, and is
    overtaken by the worker's next look.
    """

    worker_id: str
    view: View


Effect = Apply


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One look, taken after the record was read."""

    worker_id: str
    view: View | None
    """None: the counts could not be had.  That is not "one worker"."""
    applied: int
    """The cap in force at this worker; 0: none yet."""


class CapStore(Repository[Cap], Protocol):
    """The agreed cap of one stream, under the subject `<app>_coordinator`, and a row a worker."""

    def save_worker(self, app_name: str, worker_id: str, view: View, at_s: float) -> None:
        """Store the worker's own row.  Twice is once."""
        ...

    def workers(self, app_name: str) -> dict[str, int]:
        """The cap in force by worker.  Repeatable."""
        ...
