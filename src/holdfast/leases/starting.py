"""Agreeing on the cap once, when a worker starts: the seed, step by step.

The worker that sees other counts than those agreed writes its own; one that loses that write reads
again and decides again.  Its own row is written last.  Beside workers that live, a starting one
raises the cap and never lowers it: they know who is alive, and it does not.
"""

from dataclasses import replace

from holdfast.kernel import Do, Done, Wait, Workflow, Write
from holdfast.leases.agreement import LOOK_AGAIN_S, agreed, row_of, settle
from holdfast.leases.alarm import read_event
from holdfast.leases.cap import Cap, View
from holdfast.leases.ports import Effect, Seen, WriteRow


def step(cap: Cap, seen: Seen, now_s: float) -> Write[Cap] | Do[Effect] | Wait | Done:
    view = next_view(cap, seen)
    if view is not None:
        return _agreed(cap, view, seen.key, now_s)
    if cap.view is None:
        return Wait(now_s + LOOK_AGAIN_S, "the workers could not be counted, and nothing is agreed yet")
    if seen.due:
        over = seen.row.incarnation if seen.row else None
        return Do((WriteRow(row_of(cap, seen, cap.view), over, news=True),))
    return Done()


WORKFLOW: Workflow[Cap, Seen, Effect] = Workflow(step, settle)


def next_view(cap: Cap, seen: Seen) -> View | None:
    """What is to be agreed on instead; None if what is agreed holds, or nothing better is known."""
    vote = seen.vote
    if vote is None:
        return cap.view if cap.stored is not None else None
    if cap.view is None:
        return vote
    if any(row.beats for row in seen.others):
        lower = vote.max_leases_per_worker <= cap.max_leases_per_worker
        return (cap.view if cap.stored is not None else None) if lower else vote
    return vote if vote != cap.view or cap.stored is not None else None


def _agreed(cap: Cap, view: View, about: str, now_s: float) -> Write[Cap]:
    """No observation follows a start, so that an alarm ends with the counts that raised it."""
    write = agreed(cap, view, about, now_s)
    if cap.unread and not view.unread:
        return Write(replace(write.value, unread=0), (*write.events, read_event(cap, about, now_s)))
    return write
