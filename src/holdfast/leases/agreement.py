"""Agreeing on the cap: the worker that sees a change writes it down, the others follow.

Rule 1: the counts are looked at after the record was read, and the write is guarded by
        the record's version.  A guard on the counts themselves would let a slow writer
        pass after 30 → 60 → 30 with a plan made for the first 30.
Rule 2: losing the write means reading again and deciding again, never using one's own
        number.
Rule 3: counts that could not be had change nothing: an error is not "one worker".
Rule 4: a cap that leaves shards unread is said loudly, with the number of workers needed.
"""

from holdfast.kernel import Do, Done, Event, Outcome, Wait, Workflow, Write
from holdfast.leases.cap import Cap, View
from holdfast.leases.events import LeaseEvent
from holdfast.leases.ports import Apply, Effect, Seen

LOOK_AGAIN_S = 30.0


def step(cap: Cap, seen: Seen, now_s: float) -> Write[Cap] | Do[Effect] | Wait | Done:
    view = seen.view
    if view is None:
        return Wait(now_s + LOOK_AGAIN_S, "the shards or the workers could not be counted")
    if cap.view != view:
        return Write(Cap(view), _told(cap, view, seen.worker_id, now_s))
    if seen.applied != cap.max_leases_per_worker:
        return Do((Apply(seen.worker_id, view),))
    return Done()


def settle(cap: Cap, effect: Effect, outcome: Outcome, now_s: float) -> Write[Cap] | None:
    """The worker's own row tells; the agreed record does not change."""
    return None


WORKFLOW: Workflow[Cap, Seen, Effect] = Workflow(step, settle)


def _told(cap: Cap, view: View, worker_id: str, now_s: float) -> tuple[Event, ...]:
    before = f"{cap.view.shards}/{cap.view.workers}" if cap.view else "nothing"
    agreed = Event(
        LeaseEvent.CAP_AGREED,
        now_s,
        about=worker_id,
        reason=f"{before} → {view.shards}/{view.workers}",
        numbers={
            "shard_count": view.shards,
            "worker_count": view.workers,
            "max_leases_per_worker": view.max_leases_per_worker,
        },
    )
    if not view.unread:
        return (agreed,)
    why = f"{view.workers} workers may hold {view.max_leases_per_worker} leases each of {view.shards}"
    numbers = {"unread": view.unread, "workers_needed": view.workers_needed}
    return agreed, Event(LeaseEvent.SHARDS_UNREAD, now_s, about=worker_id, reason=why, numbers=numbers)
