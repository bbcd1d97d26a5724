"""Agreeing on the cap, live: each row is a vote, and the most generous vote of the living is agreed.

Rule 1: the counts are looked at after the record was read, and the write is guarded by
        the record's version.  A guard on the counts themselves would let a slow writer
        pass after 30 → 60 → 30 with a plan made for the first 30.
Rule 2: losing the write means reading again and deciding again, never using one's own
        number.
Rule 3: counts that could not be had change nothing: an error is not "one worker".
Rule 4: a vote stands in the worker's row before it raises the cap.  A worker raises the cap
        for its own vote alone: a row may be that of a dead worker, and a living one speaks for itself.
Rule 5: the cap falls to the most generous vote of the living, once all of them have seen the
        agreement that it falls from, and two looks have shown the same votes.  So no vote is
        overlooked that stood there, and workers who differ never take turns.
Rule 6: shards that stay unread are said loudly, with the number of workers needed.
"""

from dataclasses import replace

from holdfast.kernel import Do, Done, Event, Outcome, Wait, Workflow, Write
from holdfast.leases.alarm import read_event, unread_event
from holdfast.leases.cap import Cap, View
from holdfast.leases.events import LeaseEvent
from holdfast.leases.ports import Effect, Seen, WriteRow
from holdfast.leases.rows import WorkerRow

LOOK_AGAIN_S = 30.0


def step(cap: Cap, seen: Seen, now_s: float) -> Write[Cap] | Do[Effect] | Wait | Done:
    if seen.vote is None:
        return Wait(now_s + LOOK_AGAIN_S, "the shards could not be counted")
    row = row_of(cap, seen, seen.vote)
    if _is_news(seen.row, row):
        return Do((WriteRow(row, _over(seen), news=True),))
    view = next_view(cap, seen.vote, seen.others, steady=seen.steady)
    if view is not None:
        return agreed(cap, view, seen.key, now_s)
    if cap.view is not None and seen.unread is not None and bool(seen.unread) != bool(cap.unread):
        return _alarm(cap, cap.view, seen, seen.unread, now_s)
    if seen.due:
        return Do((WriteRow(row, _over(seen), news=False),))
    return Done()


def settle(cap: Cap, effect: Effect, outcome: Outcome, now_s: float) -> Write[Cap] | None:
    """The worker's own row tells; the agreed record does not change."""
    return None


WORKFLOW: Workflow[Cap, Seen, Effect] = Workflow(step, settle)


def next_view(cap: Cap, vote: View, others: tuple[WorkerRow, ...], *, steady: bool = True) -> View | None:
    """What is to be agreed on instead; None if nothing is.  `others`: the living, without this worker."""
    every = (vote, *(row.view for row in others))
    most = max(every, key=lambda view: view.generosity)
    if cap.view is None:
        return most
    if cap.stored is not None:
        return cap.view if cap.view.max_leases_per_worker >= vote.max_leases_per_worker else vote
    if vote.max_leases_per_worker > cap.max_leases_per_worker:
        return vote
    if not steady or any(row.agreement != cap.agreement for row in others):
        return None  # a vote may be older than this agreement
    outdated = cap.view not in every and most.max_leases_per_worker == cap.max_leases_per_worker
    return most if outdated or most.max_leases_per_worker < cap.max_leases_per_worker else None


def row_of(cap: Cap, seen: Seen, view: View) -> WorkerRow:
    """This worker's row as it ought to be now."""
    return WorkerRow(
        key=seen.key,
        view=view,
        max_leases_per_worker=cap.max_leases_per_worker,
        agreement=cap.agreement,
        version=seen.version,
        commit_id=seen.commit_id,
        incarnation=seen.incarnation,
        heartbeat=seen.beats + 1 if seen.incarnation else 0,
        holds=seen.holds,
        told=seen.told,
    )


def _is_news(stands: WorkerRow | None, row: WorkerRow) -> bool:
    """Whether the row must say something else than it does; how much it holds can wait for the next beat."""
    return stands is None or (
        (stands.incarnation, stands.view, stands.agreement, stands.max_leases_per_worker, stands.told)
        != (row.incarnation, row.view, row.agreement, row.max_leases_per_worker, row.told)
    )


def _over(seen: Seen) -> str | None:
    return seen.row.incarnation if seen.row else None


def agreed(cap: Cap, view: View, about: str, now_s: float) -> Write[Cap]:
    """The next agreement.  An alarm that another observation raised stays until one ends it."""
    events = []
    if cap.stored is not None:
        events.append(_recomputed(cap, cap.stored, about, now_s))
    if view != cap.view:
        events.append(_agreed_event(cap, view, about, now_s))
    if view.unread:
        events.append(unread_event(view, view.unread, view.shards, about, now_s))
    after = Cap(view, cap.agreement + 1, view.unread or cap.unread, cap.restarting)
    return Write(after, tuple(events))


def _alarm(cap: Cap, view: View, seen: Seen, unread: int, now_s: float) -> Write[Cap]:
    event = unread_event(view, unread, seen.leases, seen.key, now_s)
    if not unread:
        event = read_event(cap, seen.key, now_s)
    return Write(replace(cap, unread=unread), (event,))


def _agreed_event(cap: Cap, view: View, about: str, now_s: float) -> Event:
    return Event(
        LeaseEvent.CAP_AGREED,
        now_s,
        about=about,
        reason=f"{cap.view.counts if cap.view else 'nothing'} → {view.counts}",
        numbers={
            "shard_count": view.shards,
            "worker_count": view.workers,
            "max_leases_per_worker": view.max_leases_per_worker,
        },
    )


def _recomputed(cap: Cap, stored: int, about: str, now_s: float) -> Event:
    assert cap.view is not None
    numbers = {"stored": stored, "max_leases_per_worker": cap.max_leases_per_worker}
    why = f"{stored} was stored beside {cap.view.counts}"
    return Event(LeaseEvent.CAP_RECOMPUTED, now_s, about=about, reason=why, numbers=numbers)
