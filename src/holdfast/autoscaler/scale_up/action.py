"""Adding nodes: intend, ask, record, verify, end.

Rule 1: an intent is committed before capacity is asked for, whole enough to be repeated word
        for word.  Its token makes every repetition the same request.
Rule 2: a token does not stop a late first try.  What that brings is named by no record: its
        node keeps the joining taint and takes no pod, until the sweep adopts or removes it.
Rule 3: what is short becomes the next attempt of its group, elsewhere in its pool.  What is wrong with
        the pool itself would be the same there: its request is given up.
Rule 4: what is not ready in time is condemned with the action that launched it.  A pool in which
        something failed backs off, twice as long each time, and no other pool waits for it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from holdfast.autoscaler.disruption.kept import skipping
from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.fleet import is_leaving, staying
from holdfast.autoscaler.ports import Admit, Effect, LaunchInstances, PrepareTemplate
from holdfast.autoscaler.record import (
    EXTENSIONS_MAX,
    NEVER_JOINED,
    READY,
    Cluster,
    Condemned,
    Interrupted,
    Launch,
    LaunchStatus,
    Purpose,
    Recent,
    ScaleUp,
    Spent,
)
from holdfast.autoscaler.scale_up.launch_plan import (
    attempts_max,
    intents,
    left_this_hour,
    prepared,
    this_hour,
)
from holdfast.autoscaler.scale_up.launch_result import with_row
from holdfast.autoscaler.scale_up.pool_failures import NO_ANSWER, failures_after
from holdfast.autoscaler.scale_up.why_nowhere import why_nowhere
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Ghost, Need, Snapshot, Worker
from holdfast.cloud import ALIVE, NoticeKind
from holdfast.kernel import FREE, Do, Event, Write
from holdfast.kernel.write import EVENTS_MAX

ADMISSION_S = 90
"""An admission is carried out within a minute of reading the record, or not at all.  So a node that
is condemned this long after the last one was decided can not be opened any more."""


def begin(
    cluster: Cluster, snapshot: Snapshot, needs: Sequence[Need], why: str, settings: Settings, now_s: float
) -> Write[Cluster] | Do[Effect] | str:
    """Intend these workers: in a new action, or as part of the open one.  Text: why it cannot be done now."""
    sound = [need for need in needs if need.pool not in snapshot.pool_problems and settings.pool(need.pool)]
    ready = [need for need in sound if (pool := settings.pool(need.pool)) and prepared(pool, snapshot)]
    if sound and not ready:
        names = dict.fromkeys(need.pool for need in sound)
        return Do(tuple(PrepareTemplate(name, snapshot.digests.get(name, "")) for name in names))
    up = cluster.scale_up or ScaleUp(cluster.next_action_id(snapshot.owner, now_s), int(now_s), 0, reason=why)
    launches: list[Launch] = []
    left = {purpose: left_this_hour(cluster, purpose, settings, now_s) for purpose in Purpose}
    for need in ready:
        group = 1 + max((row.group for row in (*up.launches, *launches)), default=0)
        affordable = replace(need, count=min(need.count, left[need.purpose]))
        rows = intents(cluster, snapshot, affordable, group, launches, settings, now_s)
        launches += rows
        left[need.purpose] -= sum(row.count for row in rows)
    asked = sum(row.count for row in launches)
    if not asked:
        if ready and all(left[need.purpose] <= 0 for need in ready):
            return f"the launches of this hour are spent ({ready[0].purpose})"
        return why_nowhere(cluster, snapshot, [need.pool for need in needs], settings, now_s)
    scaled_up = replace(up, requested=up.requested + asked, launches=(*up.launches, *launches))
    begun = replace(cluster, scale_up=scaled_up, spent=_booked(cluster, up, launches, now_s))
    kind = AutoscalerEvent.BEGIN_SCALE_UP if cluster.scale_up is None else AutoscalerEvent.EXTEND_SCALE_UP
    numbers = {"requested": asked, "workers": len(staying(cluster, snapshot))}
    event = Event(kind, now_s, about=up.action_id, reason=f"{why}: {_in_words(launches)}", numbers=numbers)
    return Write(begun, (event,))


def _booked(cluster: Cluster, up: ScaleUp, rows: Sequence[Launch], now_s: float) -> tuple[Spent, ...]:
    counts = Counter[Purpose]()
    for row in rows:
        counts[row.purpose] += row.count
    new = (Spent(up.action_id, int(now_s), count, purpose) for purpose, count in counts.items())
    return (*this_hour(cluster, now_s), *new)


def proceed(
    cluster: Cluster, up: ScaleUp, snapshot: Snapshot, settings: Settings, now_s: float
) -> Write[Cluster] | Do[Effect] | None:
    """What the open action needs next; None if only time."""
    write = (
        _extend(cluster, up, snapshot, settings, now_s)
        or _verify(cluster, up, snapshot, settings, now_s)
        or _try_elsewhere(cluster, up, snapshot, settings, now_s)
        or _end(cluster, up, settings, now_s)
    )
    if write is not None:
        return write
    effects: list[Effect] = [LaunchInstances(up.action_id, launch) for launch in up.intended]
    unopened = snapshot.unopened
    for instance_id in up.joining:
        late = now_s - _intended_s(up, instance_id) > settings.join_timeout_s
        if instance_id in unopened and not late and not is_leaving(cluster, instance_id):
            effects.append(Admit(instance_id))
    return Do(tuple(effects)) if effects else None


def _verify(
    cluster: Cluster, up: ScaleUp, snapshot: Snapshot, settings: Settings, now_s: float
) -> Write[Cluster] | None:
    """Who has joined, who has died, and who took too long."""
    workers = {worker.instance_id: worker for worker in snapshot.workers}
    events: list[Event] = []
    joined, lost, condemned = list(up.joined), list(up.lost), list(cluster.condemned)
    unsure: list[str] = []
    for instance_id in up.joining:
        worker, ghost = workers.get(instance_id), snapshot.reporting.get(instance_id)
        late_s = now_s - _intended_s(up, instance_id) - settings.join_timeout_s
        if cluster.is_condemned(instance_id) or cluster.is_gone(instance_id) or _died(worker):
            lost.append(instance_id)
            events.append(
                Event(AutoscalerEvent.DIED_BEFORE_JOINING, now_s, about=instance_id, reason=_state(worker))
            )
        elif worker is not None and _is_open(worker) and (worker.ready or late_s > 0):
            joined.append(instance_id)
            events.append(Event(AutoscalerEvent.JOINED, now_s, about=instance_id, reason=worker.node_name))
        elif late_s > 0 and worker is not None and worker.namesake:
            lost.append(instance_id)
            why = f"node {worker.namesake} bears its name or address, and no provider id or label of it"
            events.append(Event(AutoscalerEvent.UNMATCHED, now_s, about=instance_id, reason=why))
        elif ghost is not None and not ghost.joining:
            joined.append(instance_id)
            events.append(Event(AutoscalerEvent.JOINED, now_s, about=instance_id, reason=ghost.name))
        elif late_s > 0 and (doubt := _doubt(snapshot, worker, ghost)):
            lost.append(instance_id)
            unsure.append(instance_id)
            events.append(Event(AutoscalerEvent.JOIN_UNKNOWN, now_s, about=instance_id, reason=doubt))
        elif late_s > (ADMISSION_S if worker is None or worker.node_name else 0):
            lost.append(instance_id)
            why = f"{NEVER_JOINED} within {settings.join_timeout_s} s"
            condemned.append(Condemned(instance_id, up.action_id, why, int(now_s)))
            events.append(Event(AutoscalerEvent.TERMINATING, now_s, about=instance_id, reason=why))
        if len(events) == EVENTS_MAX:
            break
    if not events:
        return None
    verified = replace(up, joined=tuple(joined), lost=tuple(lost))
    known = (*cluster.joined, *(i for i in joined if i not in up.joined and i not in cluster.joined))
    noted = replace(
        cluster,
        scale_up=verified,
        condemned=tuple(condemned),
        joined=known,
        recent=(*cluster.recent, *_remembered(up, unsure, now_s)),
    )
    return Write(noted, tuple(events))


def _doubt(snapshot: Snapshot, worker: Worker | None, ghost: Ghost | None) -> str:
    """Why one that is late may have joined all the same.  Then it is not ended, and not waited for: the
    record goes on naming it, so that it is admitted if it comes, and swept later if it does not."""
    if ghost is not None:
        return f"node {ghost.name} is Ready, and its machine is not listed"
    if worker is not None and worker.has_pods:
        return "pods are listed on a node of its name, and the node is not"
    return snapshot.troubles[0] if snapshot.troubles else ""


def _extend(
    cluster: Cluster, up: ScaleUp, snapshot: Snapshot, settings: Settings, now_s: float
) -> Write[Cluster] | None:
    """A ready node that no tick opened is not late, nor is a request that no tick repeated: we are.

    By a write, and only a few times: a node is opened only within its recorded time, so that one which is
    condemned after it cannot be opened any more.  Asked again, the cloud tells what it launched.
    """
    unopened = snapshot.unopened
    waiting = {i for i in up.joining if i in unopened and not is_leaving(cluster, i)}
    rows = list(up.launches)
    events: list[Event] = []
    for n, row in enumerate(rows):
        ready = " ".join(i for i in row.instance_ids if i in waiting)
        is_over = now_s - row.at_s > settings.join_timeout_s
        again = EXTENSIONS_MAX if ready else 1
        if is_over and row.extended < again and (ready or row.status is LaunchStatus.INTENDED):
            rows[n] = replace(row, at_s=int(now_s), extended=row.extended + 1)
            why = f"ready by now: {ready}" if ready else f"{row.offering}: no answer is known"
            events.append(Event(AutoscalerEvent.JOIN_EXTENDED, now_s, about=up.action_id, reason=why))
        if len(events) == EVENTS_MAX:
            break
    if not events:
        return None
    return Write(replace(cluster, scale_up=replace(up, launches=tuple(rows))), tuple(events))


def _intended_s(up: ScaleUp, instance_id: str) -> int:
    row = next((launch for launch in up.launches if instance_id in launch.instance_ids), None)
    return row.at_s if row is not None and row.at_s else up.started_s


def _is_open(worker: Worker) -> bool:
    """Its node has been admitted, and may run pods: whatever fails there later, it did join."""
    return bool(worker.node_name) and not worker.joining


def _died(worker: Worker | None) -> bool:
    return worker is not None and worker.instance.state not in ALIVE


def _state(worker: Worker | None) -> str:
    return worker.instance.state.value if worker is not None else "terminating"


def _try_elsewhere(
    cluster: Cluster, up: ScaleUp, snapshot: Snapshot, settings: Settings, now_s: float
) -> Write[Cluster] | None:
    """The next attempt for a request that came out short; or no more, if there is nowhere to go."""
    for row in up.launches:
        if row.status is LaunchStatus.INTENDED and now_s - row.at_s > settings.join_timeout_s:
            return _abandon(cluster, up, row, NO_ANSWER, now_s)
        short = row.count - len(row.instance_ids)
        if short <= 0 or row.status in (LaunchStatus.INTENDED, LaunchStatus.ABANDONED):
            continue
        left = left_this_hour(cluster, row.purpose, settings, now_s)
        if row.attempt >= attempts_max(row, snapshot, settings):
            return _abandon(cluster, up, row, f"{short} short after {row.attempt} attempts", now_s)
        if left <= 0:
            return _abandon(cluster, up, row, "the launches of this hour are spent", now_s)
        group = 1 + max(other.group for other in up.launches)
        need = Need(
            row.pool,
            min(short, left),
            zone=row.zone if row.bound else "",
            purpose=row.purpose,
            types=row.types,
            usd_max=row.usd_max,
        )
        rows = intents(cluster, snapshot, need, group, (), settings, now_s, attempt=row.attempt + 1)
        if not rows:
            why = why_nowhere(cluster, snapshot, [row.pool], settings, now_s)
            return _abandon(cluster, up, row, why, now_s)
        return _again(cluster, up, row, rows, now_s)
    return None


def _again(
    cluster: Cluster, up: ScaleUp, row: Launch, rows: Sequence[Launch], now_s: float
) -> Write[Cluster]:
    """New requests take over what the old one is short of; the old one wants no more than it got."""
    asked = sum(new.count for new in rows)
    launches = [replace(row, count=row.count - asked) if other == row else other for other in up.launches]
    event = Event(
        AutoscalerEvent.RETRY_SCALE_UP,
        now_s,
        about=up.action_id,
        reason=f"{row.offering} gave {len(row.instance_ids)} of {row.count}; next {_in_words(rows)}",
        numbers={"attempt": row.attempt + 1, "count": asked},
    )
    retried = replace(
        cluster,
        scale_up=replace(up, launches=(*launches, *rows)),
        spent=_booked(cluster, up, rows, now_s),
    )
    return Write(retried, (event,))


def _abandon(cluster: Cluster, up: ScaleUp, row: Launch, why: str, now_s: float) -> Write[Cluster]:
    return with_row(
        cluster,
        up,
        row,
        replace(row, status=LaunchStatus.ABANDONED, reason=why),
        Event(AutoscalerEvent.LAUNCH_ABANDONED, now_s, about=up.action_id, reason=f"{row.offering}: {why}"),
    )


def _end(cluster: Cluster, up: ScaleUp, settings: Settings, now_s: float) -> Write[Cluster] | None:
    """Nothing is asked for and no machine is on its way: complete, or fail and back off."""
    if up.intended or up.joining:
        return None
    succeeded = bool(up.joined)
    short = max(0, up.requested - len(up.joined))
    numbers = {"joined": len(up.joined), "requested": up.requested, "lost": len(up.lost)}
    interrupted, expired = _replacements_ended(cluster.interrupted, up, now_s)
    kept = {row.instance_id for row in interrupted}
    let_go = [row for row in cluster.interrupted if row.instance_id not in kept]
    ended = replace(
        cluster,
        scale_up=None,
        last_action_id=up.action_id,
        lock=FREE,
        recent=(*cluster.recent, *_remembered(up, up.joined, now_s)),
        interrupted=interrupted,
    )
    if any(row.kind is NoticeKind.REPLACE for row in let_go):
        ended = replace(ended, skipped=skipping(cluster, let_go, "its replacement did not come", now_s))
    ended = replace(ended, pool_failures=failures_after(cluster, up, settings, now_s))
    if ended.pool_failures and short:
        numbers["backOff_s"] = max(one.until_s for one in ended.pool_failures) - int(now_s)
    if succeeded:
        # A worker in place of another adds none: pods that wait need not wait for its cool-down.
        up_s = cluster.last_up_s if up.by_choice else int(now_s)
        ended = replace(ended, last_scale_s=int(now_s), last_up_s=up_s)
    kind = AutoscalerEvent.COMPLETE_SCALE_UP if succeeded else AutoscalerEvent.FAIL_SCALE_UP
    reasons = "; ".join(dict.fromkeys(row.reason for row in up.launches if row.reason))
    event = Event(kind, now_s, about=up.action_id, reason=reasons[:500], numbers=numbers)
    return Write(ended, (event, *expired))


def _remembered(up: ScaleUp, instance_ids: Sequence[str], now_s: float) -> list[Recent]:
    """Admitted not long ago: a listing that lags behind must not make us launch them again."""
    where = {i: (row.pool, row.zone) for row in up.launches for i in row.instance_ids}
    return [Recent(i, *where.get(i, ("default", "")), int(now_s)) for i in instance_ids]


def _replacements_ended(
    interrupted: tuple[Interrupted, ...], up: ScaleUp, now_s: float
) -> tuple[tuple[Interrupted, ...], list[Event]]:
    """The first replacements are there.  The others are decided anew; a mere hint is let go, and told."""
    missing = max(0, up.requested - len(up.joined))
    replaced = [affected for affected in interrupted if affected.replacement == up.action_id]
    there = {affected.instance_id for affected in replaced[: max(0, len(replaced) - missing)]}
    ended: list[Interrupted] = []
    expired: list[Event] = []
    for affected in interrupted:
        if affected.replacement != up.action_id:
            ended.append(affected)
        elif affected.instance_id in there:
            ended.append(replace(affected, replacement=READY))
        elif affected.kind.is_certain or len(expired) == EVENTS_MAX - 1:
            ended.append(replace(affected, replacement=""))
        else:
            hinted = affected.kind is NoticeKind.REBALANCE
            why = f"{'a hint' if hinted else affected.why}, and its replacement did not come"
            expired.append(
                Event(AutoscalerEvent.NOTICE_EXPIRED, now_s, about=affected.instance_id, reason=why)
            )
    return tuple(ended), expired


def _in_words(launches: Sequence[Launch]) -> str:
    return ", ".join(f"{row.count} x {row.offering}" for row in launches)
