"""Removing nodes: plan, drain, condemn, terminate.

Rule 1: the floor is guarded where it can be broken, at each condemnation, against the
        newest record.  A look may be minutes old, so what the record knows outranks what
        was seen: a node that we removed stays in `gone` long after listings drop it.
Rule 2: a condemnation is written before the kill and never taken back.  Giving up, because
        more workers are wanted or by the clock, keeps only what is not condemned yet.  The
        condemned outlive their action: a scale-up does not wait for a machine that takes
        long to die.
Rule 3: a cordon belongs to its action.  An action that ends takes nothing back, because
        a paused process may cordon for it again later.  A tick that sees the cordon of an ended
        action first writes it down as a stray, then lifts it.  The write proves that no
        action began between reading the record and looking at the world; without it the
        "stray" might belong to an action begun in that moment.
Rule 4: a node that was kept is skipped for a while.  Otherwise a stale listing plans it,
        a fresh one keeps it, and it is drained for ever.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from holdfast.autoscaler.disruption import share
from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.fleet import by_zone, reliable
from holdfast.autoscaler.ports import Drain, Drained, Effect, Terminate, Uncordon
from holdfast.autoscaler.reasons import Reason
from holdfast.autoscaler.record import Cluster, Condemned, ScaleDown, Skip, Status, Target, Tombstone
from holdfast.autoscaler.scale_down.leavers import empties_a_zone, leavers
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot, Worker
from holdfast.autoscaler.sweep import strays
from holdfast.cloud.launches import Termination
from holdfast.kernel import FREE, Do, Done, Event, Happened, Outcome, Write
from holdfast.kernel.write import EVENTS_MAX

CONSOLE_MAX = 1_500
"""So much of what a machine printed is kept when it never joined."""
DRAIN_SLACK_S = 60
"""A drain that is out of time says so itself, with the pod that it waited for.  If no tick comes to
hear that, its time is up this much later."""


def begin(
    cluster: Cluster,
    snapshot: Snapshot,
    settings: Settings,
    now_s: float,
    pools: frozenset[str] = frozenset(),
    workers: frozenset[str] = frozenset(),
    code: Reason = Reason.WORKERS_IDLE,
) -> Write[Cluster] | None:
    """Plan which workers of these pools leave, of any if none is named; None if none may.

    `workers`: one of these, and no other.
    """
    there = reliable(cluster, snapshot)
    chosen = _leavers(cluster, snapshot, there, settings, now_s, pools, workers)
    if not chosen:
        return None
    action = ScaleDown(
        action_id=cluster.next_action_id(snapshot.owner, now_s),
        started_s=int(now_s),
        targets=tuple(Target(instance_id) for instance_id in chosen),
        reason="" if code is Reason.WORKERS_IDLE else code.value,
    )
    begun = Event(
        AutoscalerEvent.BEGIN_SCALE_DOWN,
        now_s,
        about=action.action_id,
        reason=" ".join(chosen),
        numbers={
            "workers": len(there),
            "minWorkers": settings.min_workers,
            **_saving(snapshot, there, action),
        },
    )
    if code is Reason.NODE_UNDERUSED:
        cluster = share.booked(cluster, chosen[0], now_s)
    return Write(replace(cluster, scale_down=action), (begun,))


def _saving(snapshot: Snapshot, there: Iterable[Worker], action: ScaleDown) -> dict[str, float]:
    """What a consolidation saves, if prices are known."""
    leaving = action.having(Status.PLANNED) if action.reason else ()
    prices = [snapshot.usd_of(worker) for worker in there if worker.instance_id in leaving]
    known = [usd for usd in prices if usd is not None]
    return {"savesUsdPerHour": round(sum(known), 4)} if known and len(known) == len(prices) else {}


def _leavers(
    cluster: Cluster,
    snapshot: Snapshot,
    there: tuple[Worker, ...],
    settings: Settings,
    now_s: float,
    pools: frozenset[str],
    workers: frozenset[str],
) -> list[str]:
    surplus = min(len(there) - settings.min_workers, 1 if workers else settings.max_batch_down)
    if surplus <= 0:
        return []
    kept_back = {skip.instance_id for skip in cluster.skipped if now_s < skip.until_s}
    kept_back |= _at_their_floor(there, settings)
    in_question = {
        worker.instance_id
        for worker in there
        if worker.instance_id not in kept_back
        and (not pools or worker.instance.pool in pools)
        and (not workers or worker.instance_id in workers)
    }

    def may_leave(instance_id: str) -> bool:
        return instance_id in in_question and not snapshot.must_stay(instance_id)

    keep = settings.keep_last_of_zone
    going = leavers(there, may_leave=may_leave, count=surplus, keep_last_of_zone=keep)
    chosen = [worker.instance_id for worker in going]
    closed = {affected.instance_id for affected in cluster.interrupted} | {
        one.instance_id for one in cluster.condemned
    }
    while chosen and snapshot.fits_without(frozenset(chosen), frozenset(closed)):
        chosen.pop()
    return chosen


def proceed(
    cluster: Cluster, action: ScaleDown, snapshot: Snapshot, settings: Settings, now_s: float
) -> Write[Cluster] | Do[Effect] | Done:
    if now_s - action.started_s > settings.scale_down_stuck_s:
        stuck = give_up(cluster, f"stuck for {now_s - action.started_s:.0f} s", settings, now_s)
        if stuck is not None:
            return stuck
    drained = action.having(Status.DRAINED)
    # It was noted by a list that may have been wrong, or pods have come since: it is drained anew.
    occupied = [instance_id for instance_id in drained if snapshot.is_occupied(instance_id)]
    if emptied := [instance_id for instance_id in drained if instance_id not in occupied]:
        return _condemn(cluster, action, emptied, snapshot, settings, now_s)
    planned = [*action.having(Status.PLANNED), *occupied]
    if planned and now_s - action.started_s > settings.drain_timeout_s + DRAIN_SLACK_S:
        why = f"not drained within {settings.drain_timeout_s} s"
        return give_up(cluster, why, settings, now_s) or Done()
    if used := [i for i in action.having(Status.PLANNED) if _is_in_use_again(action, i, snapshot)]:
        return _keep(cluster, action, used[:EVENTS_MAX], "pods run there again", settings, now_s)
    drains: tuple[Effect, ...] = tuple(Drain(instance_id, action.action_id) for instance_id in planned)
    paused = {one.instance_id for one in cluster.condemned if now_s < one.retry_s}
    kills = tuple(Terminate(i) for i in action.having(Status.CONDEMNED) if i not in paused)
    return Do((*drains, *kills)) if drains or kills else end(cluster, now_s)


def settle(
    cluster: Cluster, effect: Effect, outcome: Outcome, settings: Settings, now_s: float
) -> Write[Cluster] | None:
    """Only what certainly happened is noted; everything else is simply done again."""
    if not isinstance(outcome, Happened):
        return None
    action = cluster.scale_down
    match effect:
        case Drain(instance_id, action_id) if action and action.action_id == action_id:
            return _drained(cluster, action, instance_id, outcome.answer, settings, now_s)
        case Terminate(instance_id) if isinstance(said := outcome.answer, Termination):
            return _not_ended(cluster, instance_id, said, settings, now_s)
        case Terminate(instance_id) if cluster.is_condemned(instance_id):
            console = outcome.answer if isinstance(outcome.answer, str) else ""
            return _terminated(cluster, instance_id, console, now_s)
        case Uncordon(instance_id, action_id):
            left = tuple(
                s for s in cluster.strays if (s.instance_id, s.action_id) != (instance_id, action_id)
            )
            if left != cluster.strays:
                lifted = Event(
                    AutoscalerEvent.STRAY_CORDON_LIFTED, now_s, about=instance_id, reason=action_id
                )
                return Write(replace(cluster, strays=left), (lifted,))
    return None


def give_up(cluster: Cluster, why: str, settings: Settings, now_s: float) -> Write[Cluster] | None:
    """Keep every target that is not condemned; None if there is none such."""
    action = cluster.scale_down
    kept = action.having(Status.PLANNED, Status.DRAINED) if action else ()
    kept = kept[:EVENTS_MAX]  # each is told: what is more is given up next
    if action is None or not kept:
        return None
    return _keep(cluster, action, kept, why, settings, now_s)


def _keep(
    cluster: Cluster, action: ScaleDown, kept: Sequence[str], why: str, settings: Settings, now_s: float
) -> Write[Cluster]:
    for instance_id in kept:
        action = action.moved(instance_id, Status.SKIPPED)
    skipped = _skipping(cluster, tuple(kept), why, settings, now_s)
    events = tuple(_kept(instance_id, why, now_s) for instance_id in kept)
    return Write(replace(cluster, scale_down=action, skipped=skipped), events)


def _is_in_use_again(action: ScaleDown, instance_id: str, snapshot: Snapshot) -> bool:
    """It was to leave because it was empty, and a pod came before it was cordoned."""
    worker = next((w for w in snapshot.workers if w.instance_id == instance_id), None)
    if action.reason != Reason.NODE_EMPTY or worker is None or action.action_id in worker.cordons:
        return False
    return bool(worker.node_name) and not snapshot.is_empty(instance_id)


def tidy_up(cluster: Cluster, snapshot: Snapshot, now_s: float) -> Write[Cluster] | Do[Effect] | None:
    """Write down the cordons of ended actions, then lift them."""
    if cluster.strays:
        return Do(tuple(Uncordon(stray.instance_id, stray.action_id) for stray in cluster.strays))
    found = [stray for stray in sorted(strays(cluster, snapshot)) if not cluster.is_gone(stray.instance_id)]
    found = found[:EVENTS_MAX]  # each is told: what is more is found next
    if not found:
        return None
    events = tuple(
        Event(AutoscalerEvent.STRAY_CORDON_FOUND, now_s, about=stray.instance_id, reason=stray.action_id)
        for stray in found
    )
    return Write(replace(cluster, strays=tuple(found)), events)


def _condemn(
    cluster: Cluster,
    action: ScaleDown,
    emptied: Sequence[str],
    snapshot: Snapshot,
    settings: Settings,
    now_s: float,
) -> Write[Cluster]:
    """Condemn each emptied target that may still leave, and keep the others."""
    left = {worker.instance_id: worker for worker in reliable(cluster, snapshot)}
    for instance_id in action.having(Status.CONDEMNED, Status.GONE):
        left.pop(instance_id, None)
    events: list[Event] = []
    skipped, condemned = cluster.skipped, cluster.condemned
    for instance_id in emptied[:EVENTS_MAX]:
        why = _stays(cluster, left, instance_id, action.action_id, settings)
        if why:
            action = action.moved(instance_id, Status.SKIPPED)
            skipped = _skipping(replace(cluster, skipped=skipped), (instance_id,), why, settings, now_s)
            events.append(_kept(instance_id, why, now_s))
            continue
        left.pop(instance_id, None)
        action = action.moved(instance_id, Status.CONDEMNED)
        if not cluster.is_condemned(instance_id):  # another process may have stopped it meanwhile
            condemned = (*condemned, Condemned(instance_id, action.action_id, "scale-down", int(now_s)))
        numbers = {"left": len(left), "needed": settings.min_workers}
        events.append(Event(AutoscalerEvent.TERMINATING, now_s, about=instance_id, numbers=numbers))
    written = replace(cluster, scale_down=action, skipped=skipped, condemned=condemned)
    return Write(written, tuple(events))


def _stays(
    cluster: Cluster, left: dict[str, Worker], instance_id: str, action_id: str, settings: Settings
) -> str:
    """Why this one of those that are left may not leave any more; empty if it may."""
    worker = left.get(instance_id)
    others = len(left) - (worker is not None)
    if cluster.interruption_of(instance_id) is not None:
        return "the cloud takes it back"
    if others < settings.min_workers:
        return f"{others} would be left of {settings.min_workers} needed"
    if worker is None:
        return ""
    if worker.uncordoned_from(action_id):
        return "it was uncordoned by a person"
    if instance_id in _at_their_floor(left.values(), settings):
        return f"pool {worker.instance.pool} would fall below its floor"
    if settings.keep_last_of_zone and empties_a_zone(worker.instance.zone, by_zone(left.values())):
        return f"the last one in zone {worker.instance.zone}"
    return ""


def _at_their_floor(workers: Iterable[Worker], settings: Settings) -> set[str]:
    """Workers of pools that have no more than they must have."""
    workers = list(workers)
    there = Counter(worker.instance.pool for worker in workers)
    floors = {pool.name: pool.min_workers for pool in settings.pools}
    return {
        worker.instance_id
        for worker in workers
        if there[worker.instance.pool] <= floors.get(worker.instance.pool, 0)
    }


def _drained(
    cluster: Cluster, action: ScaleDown, instance_id: str, answer: object, settings: Settings, now_s: float
) -> Write[Cluster] | None:
    if instance_id not in action.having(Status.PLANNED):
        return None
    blocked_by = answer.blocked_by if isinstance(answer, Drained) else ""
    if isinstance(answer, Drained) and answer.left and not blocked_by:
        if now_s - action.started_s <= settings.drain_timeout_s:
            return None  # the next round goes on
        blocked_by = f"not drained within {settings.drain_timeout_s} s: {answer.waiting_for}"
    if blocked_by:
        kept = action.moved(instance_id, Status.SKIPPED)
        skipped = _skipping(cluster, (instance_id,), blocked_by, settings, now_s)
        event = _kept(instance_id, blocked_by, now_s)
        return Write(replace(cluster, scale_down=kept, skipped=skipped), (event,))
    drained = replace(cluster, scale_down=action.moved(instance_id, Status.DRAINED))
    return Write(drained, (Event(AutoscalerEvent.DRAINED, now_s, about=instance_id),))


def _not_ended(
    cluster: Cluster, instance_id: str, said: Termination, settings: Settings, now_s: float
) -> Write[Cluster] | None:
    """The cloud refuses to end it: ask again later, each time later than the time before."""
    if not cluster.is_condemned(instance_id):
        return None
    rows, refused = list[Condemned](), 0
    for one in cluster.condemned:
        if one.instance_id == instance_id:
            refused = one.refused + 1
            wait_s = min(settings.back_off_max_s, settings.back_off_first_s * 2 ** min(refused - 1, 20))
            one = replace(one, refused=refused, retry_s=int(now_s) + wait_s)
        rows.append(one)
    event = Event(
        AutoscalerEvent.TERMINATION_REFUSED,
        now_s,
        about=instance_id,
        reason=why_not_ended(instance_id, said),
        numbers={"refused": refused},
    )
    return Write(replace(cluster, condemned=tuple(rows)), (event,))


def why_not_ended(instance_id: str, said: Termination) -> str:
    """What EC2 refuses it for, and what lets it be ended again."""
    if said is Termination.DENIED:
        return f"the role may not: give {instance_id} its tags back, or grant ec2:TerminateInstances on it"
    return f"termination protection: {lift_protection(instance_id)}"


def lift_protection(instance_id: str) -> str:
    return f"aws ec2 modify-instance-attribute --instance-id {instance_id} --no-disable-api-termination"


def _terminated(cluster: Cluster, instance_id: str, console: str, now_s: float) -> Write[Cluster]:
    action = cluster.scale_down
    done = replace(
        cluster,
        scale_down=action.without(instance_id) if action else None,
        condemned=tuple(c for c in cluster.condemned if c.instance_id != instance_id),
        gone=(*cluster.gone, Tombstone(instance_id, int(now_s))),
    )
    printed = f"its console ended with: {console[-CONSOLE_MAX:]}" if console else ""
    return Write(done, (Event(AutoscalerEvent.TERMINATED, now_s, about=instance_id, reason=printed),))


def end(cluster: Cluster, now_s: float) -> Write[Cluster]:
    """Nothing of the plan may still be kept: cool down if anything left, and clear the fields.

    What is condemned and not yet gone stays in the record, and goes on dying without the action.
    """
    action = cluster.scale_down
    assert action is not None, "there is nothing to end"
    assert not action.having(Status.PLANNED, Status.DRAINED), action
    left = action.having(Status.GONE, Status.CONDEMNED)
    ended = replace(
        cluster,
        scale_down=None,
        last_action_id=action.action_id,
        lock=FREE,
        last_scale_s=int(now_s) if left else cluster.last_scale_s,
        worker_count=max(0, cluster.worker_count - len(left)),
    )
    kind = AutoscalerEvent.COMPLETE_SCALE_DOWN if left else AutoscalerEvent.FAIL_SCALE_DOWN
    numbers = {"removed": len(left), "planned": len(action.targets)}
    return Write(ended, (Event(kind, now_s, about=action.action_id, numbers=numbers),))


def _skipping(
    cluster: Cluster, kept: tuple[str, ...], why: str, settings: Settings, now_s: float
) -> tuple[Skip, ...]:
    still = tuple(s for s in cluster.skipped if now_s < s.until_s and s.instance_id not in kept)
    return (*still, *(Skip(instance_id, why, int(now_s) + settings.skip_s) for instance_id in kept))


def _kept(instance_id: str, why: str, now_s: float) -> Event:
    return Event(AutoscalerEvent.DRAIN_SKIPPED, now_s, about=instance_id, reason=why)
