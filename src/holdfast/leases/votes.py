"""A worker's vote: the shards that it counts, and the workers to share them.

More shards count at once.  Fewer count when two looks some time apart agree: a reshard shows shards in
between, and a listing may be old.  Workers are the living, never more than are expected.  Until the
expected number has once come, for a while at most, it is that number: else the first of three would
take all, and give most of it up again.
"""

from dataclasses import dataclass, replace

from holdfast.leases.cap import View


@dataclass(frozen=True, slots=True)
class Counting:
    """What one worker remembers of its counts."""

    shards: int | None = None
    """The shards that it votes for; None before the first count."""
    fewer: int | None = None
    """A lower number that was seen,"""
    fewer_since_s: float = 0.0
    """since then."""
    expected: int | None = None
    """The last number of workers that was known to be expected."""
    gathered: bool = False
    """Whether the expected number has once come, or was waited for long enough."""


def count_shards(counting: Counting, seen: int, mono_s: float, *, apart_s: float) -> Counting:
    """Take one more count of the shards."""
    if counting.shards is None or seen >= counting.shards:
        return replace(counting, shards=seen, fewer=None)
    if counting.fewer != seen:
        return replace(counting, fewer=seen, fewer_since_s=mono_s)
    if mono_s - counting.fewer_since_s < apart_s:
        return counting
    return replace(counting, shards=seen, fewer=None)


def gather(counting: Counting, living: int, alive_s: float, *, join_grace_s: float) -> Counting:
    """Note whether the expected workers have come.  `alive_s`: how long this worker has lived."""
    if counting.gathered or counting.expected is None:
        return counting
    came = living >= counting.expected or alive_s >= join_grace_s
    return replace(counting, gathered=True) if came else counting


def vote(counting: Counting, living: int, limit: int) -> View | None:
    """What this worker would agree on; None as long as it could not count."""
    if counting.shards is None:
        return None
    workers = max(1, living)
    if counting.expected is not None:
        workers = min(workers, counting.expected) if counting.gathered else counting.expected
    return View(counting.shards, workers, limit)
