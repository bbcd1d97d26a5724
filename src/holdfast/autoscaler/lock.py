"""The lock around the whole: it keeps invocations from doing the same work at once.

Advisory, never for safety: every test of interleavings runs without it.
"""

from dataclasses import replace

from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.interruption import still_to_do
from holdfast.autoscaler.ports import Effect
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.workflow import NEXT_LOOK_S, Ahead
from holdfast.kernel import FREE, Do, Event, Lock, Wait, Workflow, Write
from holdfast.kernel.write import EVENTS_MAX

URGENT_S = 30
"""While a deadline runs, a lock counts for no longer than this since it was renewed."""


def locked(
    whole: Workflow[Cluster, Snapshot, Effect], *, owner: str, ttl_s: float
) -> Workflow[Cluster, Snapshot, Effect]:
    """The same, but effects wait for the lock: advisory, never for safety.

    While a deadline runs the lock counts for URGENT_S since its last renewal, however long
    it says: a holder that died must not cost an interrupted node its two minutes.
    """

    def step(cluster: Cluster, snapshot: Snapshot, now_s: float) -> Ahead:
        ahead = whole.step(cluster, snapshot, now_s)
        if isinstance(ahead, Write):
            return _taken_with(ahead, cluster, owner, now_s, ttl_s)
        if not isinstance(ahead, Do):
            return ahead
        urgent = still_to_do(cluster, snapshot)
        if is_held(cluster, owner, now_s, ttl_s=ttl_s, urgent=urgent):
            return Wait(
                min(cluster.lock.until_s, now_s + NEXT_LOOK_S), f"{cluster.lock.owner} is at work on it"
            )
        renew_s = URGENT_S / 2 if urgent else ttl_s / 2
        if cluster.lock.owner == owner and now_s - (cluster.lock.until_s - ttl_s) < renew_s:
            return ahead
        return take(cluster, owner, now_s, ttl_s)

    return replace(whole, step=step)


def _taken_with(
    write: Write[Cluster], cluster: Cluster, owner: str, now_s: float, ttl_s: float
) -> Write[Cluster]:
    """A write that begins an action takes the lock in the same commit: its effects come next."""
    begins = write.value.scaling_in_progress and not cluster.scaling_in_progress
    if not begins or cluster.lock.owner or len(write.events) == EVENTS_MAX:
        return write
    taken = take(write.value, owner, now_s, ttl_s)
    return Write(taken.value, (*write.events, *taken.events))


def is_held(cluster: Cluster, owner: str, now_s: float, *, ttl_s: float, urgent: bool) -> bool:
    """Whether another tick is at work."""
    lock = cluster.lock
    counts_until_s = min(lock.until_s, lock.until_s - ttl_s + URGENT_S) if urgent else lock.until_s
    return bool(lock.owner) and lock.owner != owner and now_s < counts_until_s


def take(cluster: Cluster, owner: str, now_s: float, ttl_s: float) -> Write[Cluster]:
    taken = cluster.with_lock(Lock(owner, now_s + ttl_s))
    return Write(
        taken, (Event(AutoscalerEvent.LOCK_TAKEN, now_s, about=owner, numbers={"until_s": now_s + ttl_s}),)
    )


def release(cluster: Cluster, owner: str, now_s: float) -> Write[Cluster] | None:
    """None if it is not this owner's."""
    if cluster.lock.owner != owner:
        return None
    return Write(cluster.with_lock(FREE), (Event(AutoscalerEvent.LOCK_RELEASED, now_s, about=owner),))
