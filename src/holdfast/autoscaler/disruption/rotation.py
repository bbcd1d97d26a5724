"""Workers that are replaced by choice: the new one joins first, then the old one is drained and ended.

Rule 1: it is a row among the interrupted, of the least certain kind.  Launching, waiting for the replacement,
        draining and ending are those of a hint: see `interruption`.  A notice of the cloud takes it over.
Rule 2: one at a time, within the share an hour, and only while no other action runs and no pod waits.
Rule 3: the worker stays in service until its replacement is ready.  At MAX_WORKERS the fleet has one more
        until the old one has left: the one that is replaced does not count.
Rule 4: what cannot be replaced now is left alone for a while: see `kept`.  So no failure is repeated at once.
Rule 5: an operator's word needs no window and no cool-down.  The other rules hold for it too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from holdfast.autoscaler.disruption import share
from holdfast.autoscaler.disruption.consolidation import cooling_down, disruption_allowed
from holdfast.autoscaler.disruption.dear import is_cheaper, savings
from holdfast.autoscaler.disruption.kept import left_for_a_while
from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.fleet import reliable
from holdfast.autoscaler.interruption import answered, room_for_hints
from holdfast.autoscaler.operator import is_paused
from holdfast.autoscaler.ports import Effect
from holdfast.autoscaler.record import READY, Cluster, Interrupted, Purpose
from holdfast.autoscaler.scale_up import action as scale_up
from holdfast.autoscaler.scale_up.launch_plan import left_this_hour, prepared
from holdfast.autoscaler.scale_up.pool_failures import is_sound
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Need, Snapshot, Worker
from holdfast.cloud import NoticeKind
from holdfast.cloud.text import lasting
from holdfast.kernel import Do, Event, Invalid, Write

NOTHING: Mapping[str, float] = MappingProxyType({})
CHOSEN_S = 3_600
"""One that was chosen and has not left by then is let go."""
ASKED_S = 7_200
"""One that an operator asked for: it may have to wait for its turn first."""


def rows(cluster: Cluster) -> tuple[Interrupted, ...]:
    return tuple(row for row in cluster.interrupted if row.kind is NoticeKind.REPLACE)


def fold(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Write[Cluster] | None:
    """Choose the next one to replace, and write it down."""
    if rows(cluster) or bars(cluster, snapshot, settings, now_s):
        return None
    for worker, why in due(cluster, snapshot, settings, now_s):
        if not keeps(cluster, snapshot, worker, now_s):
            return chosen(cluster, worker.instance_id, why, now_s, CHOSEN_S)
    for saving in savings(cluster, snapshot, settings, now_s):
        if not keeps(cluster, snapshot, saving.worker, now_s) and is_cheaper(saving, snapshot):
            i, saves = saving.worker.instance_id, {"savesUsdPerHour": round(saving.usd - saving.cheapest, 4)}
            return chosen(cluster, i, saving.why, now_s, CHOSEN_S, saving.usd_max, saves)
    return None


def chosen(
    cluster: Cluster,
    instance_id: str,
    why: str,
    now_s: float,
    within_s: int,
    usd_max: float = 0.0,
    numbers: Mapping[str, float] = NOTHING,
) -> Write[Cluster]:
    at_s = int(now_s)
    row = Interrupted(instance_id, NoticeKind.REPLACE, at_s, at_s + within_s, why=why, usd_max=usd_max)
    event = Event(AutoscalerEvent.REPLACING, now_s, about=instance_id, reason=why, numbers=numbers)
    return Write(replace(cluster, interrupted=(*cluster.interrupted, row)), (event,))


def bars(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> str:
    """Why none may be chosen now; empty if one may."""
    if why := _bars_to_all(cluster, snapshot, settings, now_s):
        return why
    return cooling_down(cluster, settings, now_s) or (
        "" if disruption_allowed(settings, now_s) else "no window for disruption is open"
    )


def _bars_to_all(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> str:
    if cluster.scaling_in_progress:
        return "another action is open"
    if any(row.kind is not NoticeKind.REPLACE for row in cluster.interrupted):
        return "the cloud takes others back"
    if is_paused(cluster, now_s):
        return "paused"
    if snapshot.troubles:
        return snapshot.troubles[0]
    if snapshot.pending:
        return "pods wait for room"
    if not share.left(cluster, snapshot, settings, now_s):
        return "as many as may be were disrupted within the hour"
    if left_this_hour(cluster, Purpose.ROTATION, settings, now_s) <= 0:
        return "the launches of this hour are spent"
    return ""


def due(
    cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float
) -> Iterator[tuple[Worker, str]]:
    """Those that should be replaced, the oldest first, each with the reason."""
    rules = settings.disruption
    for worker in sorted(reliable(cluster, snapshot), key=lambda w: (w.instance.launched_s, w.instance_id)):
        age_s = now_s - worker.instance.launched_s
        if not worker.ours:
            continue
        if rules.drift and (why := drifted(worker, snapshot, settings)):
            yield worker, why
        elif rules.max_age_s and worker.instance.launched_s and age_s > rules.max_age_s:
            yield worker, f"older than {lasting(rules.max_age_s)}"


def drifted(worker: Worker, snapshot: Snapshot, settings: Settings) -> str:
    """How it differs from what its pool would launch now; empty if it does not, or if that is not known."""
    pool, made_from = settings.pool(worker.instance.pool), worker.instance.template
    if pool is None or not made_from or pool.name in snapshot.pool_problems:
        return ""
    wanted = snapshot.templates.get(pool.name)
    if wanted is None or not prepared(pool, snapshot):
        changed = pool.name in snapshot.digests
        return f"drift: made from {made_from}, and the pool's settings have changed" if changed else ""
    if made_from == wanted.name:
        return ""
    return f"drift: made from {made_from}, and the pool has {wanted.name}"


def keeps(cluster: Cluster, snapshot: Snapshot, worker: Worker, now_s: float) -> str:
    """Why this one may not be replaced now; empty if it may."""
    for skip in cluster.skipped:
        if skip.instance_id == worker.instance_id and now_s < skip.until_s:
            return f"it was tried and kept: {skip.reason}"
    if not is_sound(cluster, worker.instance.pool, now_s):
        return f"pool {worker.instance.pool} backs off"
    return snapshot.stays_put(worker.instance_id) or snapshot.fits_on_new(worker.instance_id)


def launch(
    cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float
) -> Write[Cluster] | tuple[Effect, ...]:
    """Ask for the replacement of the one that was chosen first; nothing while it has to wait."""
    row = next((row for row in rows(cluster) if not row.replacement), None)
    if row is None or any(other.replacement for other in rows(cluster)):
        return ()
    worker = next(
        (w for w in reliable_or_chosen(cluster, snapshot) if w.instance_id == row.instance_id), None
    )
    if worker is None or _bars_to_all(cluster, snapshot, settings, now_s):
        return ()
    if why := keeps(cluster, snapshot, worker, now_s):
        return left_for_a_while(cluster, row, why, now_s)
    if room_for_hints(cluster, snapshot, settings) <= 0:
        return left_for_a_while(cluster, row, "the fleet has more than its maximum size", now_s)
    why = f"replaces {row.instance_id}: {row.why}"
    machine, types = worker.instance, snapshot.types_for(row.instance_id)
    need = Need(machine.pool, 1, why, machine.zone, Purpose.ROTATION, types=types, usd_max=row.usd_max)
    begun = scale_up.begin(cluster, snapshot, (need,), why, settings, now_s)
    if isinstance(begun, Do):
        return begun.effects
    if isinstance(begun, str):
        return left_for_a_while(cluster, row, begun, now_s)
    assert begun.value.scale_up is not None
    replaced = answered(begun.value, (row,), begun.value.scale_up.action_id)
    return Write(share.booked(replaced, row.instance_id, now_s), begun.events)


def reliable_or_chosen(cluster: Cluster, snapshot: Snapshot) -> tuple[Worker, ...]:
    """Workers in service, those among them that are to be replaced."""
    others = tuple(row for row in cluster.interrupted if row.kind is not NoticeKind.REPLACE)
    return reliable(replace(cluster, interrupted=others), snapshot)


def withdraw(cluster: Cluster, snapshot: Snapshot, now_s: float) -> Write[Cluster] | None:
    """Let go of one whose replacement is ready, and whose pods would find no place: others took it."""
    workers = {worker.instance_id: worker for worker in snapshot.workers if worker.node_name}
    closed = frozenset(row.instance_id for row in cluster.interrupted)
    closed |= {one.instance_id for one in cluster.condemned}
    for row in rows(cluster):
        worker = workers.get(row.instance_id)
        if worker is None or row.replacement != READY or row.drained or row.action_id in worker.cordons:
            continue
        why = snapshot.stays_put(row.instance_id) or snapshot.fits_without(
            frozenset({row.instance_id}), closed
        )
        if why:
            return left_for_a_while(cluster, row, why, now_s)
    return None


def named(cluster: Cluster, snapshot: Snapshot, name: str) -> Worker:
    """The worker that an operator means, by its node or its machine; Invalid if it cannot be replaced."""
    worker = next((w for w in snapshot.workers if name in (w.node_name, w.instance_id)), None)
    listed = "`holdfast autoscaler status` lists all that may be named"
    if worker is None or not worker.alive:
        raise Invalid(f"NODE {name!r}: no worker has this name or instance id: {listed}")
    if not worker.ours:
        raise Invalid(
            f"NODE {name!r}: Holdfast did not launch its machine, and ends no such: replace it yourself"
        )
    if cluster.is_condemned(worker.instance_id) or cluster.is_gone(worker.instance_id):
        raise Invalid(f"NODE {name!r}: it is terminating already, and nothing is left to replace")
    row = cluster.interruption_of(worker.instance_id)
    if row is not None and row.kind is not NoticeKind.REPLACE:
        raise Invalid(
            f"NODE {name!r}: it has a notice ({row.kind}), and is replaced for that if it is needed"
        )
    if not (worker.ready and worker.node_name and not worker.joining):
        raise Invalid(f"NODE {name!r}: it is not in service: wait until it is Ready, or end it yourself")
    return worker


def asked(cluster: Cluster, instance_id: str, why: str, now_s: float) -> Write[Cluster] | None:
    """An operator's word; None if it is being replaced already, or leaves."""
    leaving = cluster.is_condemned(instance_id) or cluster.is_gone(instance_id)
    if leaving or cluster.interruption_of(instance_id) is not None:
        return None
    return chosen(cluster, instance_id, why, now_s, ASKED_S)


def waits_for(cluster: Cluster, snapshot: Snapshot, worker: Worker, settings: Settings, now_s: float) -> str:
    """What keeps an operator's word from being carried out at once; empty if nothing does."""
    before = next((row.instance_id for row in rows(cluster) if row.instance_id != worker.instance_id), "")
    return (
        (f"{before} is being replaced" if before else "")
        or _bars_to_all(cluster, snapshot, settings, now_s)
        or keeps(cluster, snapshot, worker, now_s)
    )
