"""Machines that the cloud takes back: note, replace, drain against the deadline, forget.

Rule 1: every tick folds *all* waiting notices into the record, in one commit.  So no two
        notices race, and a duplicate changes nothing, however late it comes.
Rule 2: no notice waits for a running action.  A scale-up is extended; a scale-down ends, because
        what the cloud takes may be the very surplus it was for.
Rule 3: the replacement is decided in the record, once for each interrupted machine, and only if the
        fleet still needs it.  Launching comes first, draining runs beside it.
Rule 4: a rebalance recommendation is a hint: replace and cordon, but drain only when the
        replacement is ready.  Without a replacement, the hint is let go.  Hints have a small budget
        of their own; what is beyond it is noted, and nothing is done.
Rule 5: an offering from which machines are being reclaimed is the last choice for a while.
Rule 6: only machines of this cluster.  A notice for any other is dropped, and nothing is touched.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from holdfast.autoscaler.disruption.kept import left_for_a_while, skipping
from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.fleet import serving, size, staying, unlisted
from holdfast.autoscaler.interruption.fate import as_seen, fate, is_over
from holdfast.autoscaler.ports import CordonNode, Drain, Drained, Effect, ForgetNotices
from holdfast.autoscaler.record import (
    DECLINED,
    READY,
    UNNEEDED,
    Cluster,
    Condemned,
    Interrupted,
    Launch,
    Purpose,
    Tombstone,
)
from holdfast.autoscaler.scale_up.launch_result import taken_back
from holdfast.autoscaler.scale_up.offering_ranks import RECLAIMED
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Need, Snapshot
from holdfast.cloud import Market, Notice, NoticeKind, Offering
from holdfast.kernel import Event, Happened, Outcome, Write
from holdfast.kernel.write import EVENTS_MAX

STRANGER_S = 120
"""So long may a machine of ours be missing in the listing before its notice counts as a stranger's."""
RECLAIMED_S = 1_800
"""How long an offering is the last choice after the cloud took a machine of it back, or hinted at it."""
CONSIDERED_MAX = 40
"""Interrupted machines whose pods are considered one by one; beyond that, each is taken to be needed."""


def fold(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Write[Cluster] | None:
    """Take all waiting notices of our machines into the record."""
    interrupted = {affected.instance_id: affected for affected in cluster.interrupted}
    ours = {worker.instance_id for worker in snapshot.workers} | set(unlisted(cluster, snapshot))
    events: list[Event] = []
    for notice in sorted((*snapshot.notices, *_unexpected(cluster, snapshot))):
        before = interrupted.get(notice.instance_id)
        if notice.instance_id not in ours or not _is_news(cluster, before, notice, settings, now_s):
            continue
        deadline_s = notice.deadline_s or notice.at_s
        affected = Interrupted(notice.instance_id, notice.kind, notice.at_s, deadline_s)
        # A hint that has become certain keeps the replacement that it already has.
        kept = before.replacement if before and before.replacement != DECLINED else ""
        interrupted[notice.instance_id] = replace(affected, replacement=kept)
        cluster = _reclaimed(cluster, snapshot, notice, now_s)
        events.append(_told(notice, deadline_s, before, snapshot, now_s))
        if len(events) == EVENTS_MAX:
            break
    return Write(replace(cluster, interrupted=tuple(interrupted.values())), tuple(events)) if events else None


def _unexpected(cluster: Cluster, snapshot: Snapshot) -> Iterator[Notice]:
    """What the cloud's listings say, but for the end of one whose end was announced: `end` sees that."""
    announced = {one.instance_id for one in cluster.interrupted if one.kind is NoticeKind.INTERRUPTION}
    for notice in snapshot.observed:
        if notice.kind is not NoticeKind.GONE or notice.instance_id not in announced:
            yield notice


def _told(
    notice: Notice, deadline_s: int, before: Interrupted | None, snapshot: Snapshot, now_s: float
) -> Event:
    announced = before is not None and before.kind is NoticeKind.INTERRUPTION
    if notice.kind is not NoticeKind.GONE or announced:
        kind, about = AutoscalerEvent.INTERRUPTED, notice.instance_id
        return Event(
            kind, now_s, about=about, reason=notice.kind.value, numbers={"deadlineEpoch": deadline_s}
        )
    why = next((w.instance.ended_why for w in snapshot.workers if w.instance_id == notice.instance_id), "")
    return Event(AutoscalerEvent.LOST, now_s, about=notice.instance_id, reason=why or notice.kind.value)


def _reclaimed(cluster: Cluster, snapshot: Snapshot, notice: Notice, now_s: float) -> Cluster:
    """Where the cloud takes one machine back it will take the next."""
    worker = next((w for w in snapshot.workers if w.instance_id == notice.instance_id), None)
    if worker is None or worker.instance.market is not Market.SPOT or notice.kind is NoticeKind.GONE:
        return cluster
    offering = str(Offering(worker.instance.zone, worker.instance.market, worker.instance.instance_type))
    barred = next((one for one in cluster.unavailable if one.offering == offering), None)
    if barred is not None and now_s < barred.until_s and barred.reason != RECLAIMED:
        return cluster  # there is no capacity anyway
    return taken_back(cluster, offering, int(now_s) + RECLAIMED_S)


def forget(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> tuple[Effect, ...]:
    """Notices that say nothing new any more."""
    ours = {worker.instance_id for worker in snapshot.workers} | set(unlisted(cluster, snapshot))
    old = [
        notice.key
        for notice in snapshot.notices
        if not _is_news(cluster, cluster.interruption_of(notice.instance_id), notice, settings, now_s)
        or (notice.instance_id not in ours and now_s - notice.at_s > STRANGER_S)
    ]
    return (ForgetNotices(tuple(old)),) if old else ()


def _is_news(
    cluster: Cluster, affected: Interrupted | None, notice: Notice, settings: Settings, now_s: float
) -> bool:
    if notice.kind is NoticeKind.REBALANCE and not settings.rebalance_replaces:
        return False
    if notice.kind in (NoticeKind.NOT_READY, NoticeKind.REPLACE):
        return False  # these are no words of the cloud
    if is_over(notice.kind, notice.at_s, notice.deadline_s or notice.at_s, now_s):
        return False  # it would be let go at once, and folded in again, for ever
    if cluster.is_gone(notice.instance_id) or now_s - notice.at_s > settings.remember_s:
        # Older than what we remember: it may be one that we removed ourselves.
        return False
    if cluster.is_condemned(notice.instance_id):
        return False  # it leaves anyway, and no action waits for it
    return affected is None or _certainty(notice.kind) > _certainty(affected.kind)


def _certainty(kind: NoticeKind) -> int:
    return CERTAINTY.index(kind)


CERTAINTY = (
    NoticeKind.REPLACE,
    NoticeKind.REBALANCE,
    NoticeKind.NOT_READY,
    NoticeKind.INTERRUPTION,
    NoticeKind.GONE,
)


def unanswered(cluster: Cluster, settings: Settings) -> tuple[Interrupted, ...]:
    """Interrupted machines for which it is not decided yet whether they are replaced."""
    return tuple(
        affected
        for affected in cluster.interrupted
        if not affected.replacement
        and affected.kind is not NoticeKind.REPLACE  # that is our own choice, and waits for its turn
        and (affected.kind is not NoticeKind.REBALANCE or settings.rebalance_replaces)
    )


def needed(
    cluster: Cluster, snapshot: Snapshot, waiting: Sequence[Interrupted], settings: Settings
) -> tuple[list[Interrupted], list[Interrupted]]:
    """Those that the fleet still needs, and those that it does not."""
    interrupted = frozenset(affected.instance_id for affected in cluster.interrupted)
    declined = {affected.instance_id for affected in cluster.interrupted if affected.replacement == DECLINED}
    closed = (interrupted - declined) | {one.instance_id for one in cluster.condemned}
    left = _left(cluster, snapshot)
    wanted: list[Interrupted] = []
    spare: list[Interrupted] = []
    moving = _moving(cluster, snapshot, closed)
    for n, affected in enumerate(waiting):
        leaving = frozenset({*moving, *(d.instance_id for d in spare), affected.instance_id})
        # Its loss was made good before its notice came, or a hint was replaced and came to nothing: one
        # more would be too many.
        full = left + len(wanted) >= settings.max_workers
        above_floor = left + len(wanted) >= settings.min_workers
        considered = n < CONSIDERED_MAX or not wanted
        if full or (above_floor and considered and not snapshot.fits_without(leaving, closed)):
            spare.append(affected)
        else:
            wanted.append(affected)
    return wanted, spare


def _moving(cluster: Cluster, snapshot: Snapshot, closed: frozenset[str]) -> frozenset[str]:
    """Interrupted machines whose pods need room on what is there: those that are not replaced; and those
    whose replacement has joined, for its room is theirs, as long as it is enough for them."""
    unreplaced = frozenset(each.instance_id for each in cluster.interrupted if each.replacement == UNNEEDED)
    open_id = cluster.scale_up.action_id if cluster.scale_up else ""
    replaced = frozenset(
        each.instance_id
        for each in cluster.interrupted
        if not each.drained and each.replacement not in ("", UNNEEDED, DECLINED, open_id)
    )
    if not replaced or snapshot.fits_without(unreplaced | replaced, closed):
        return unreplaced
    return unreplaced | replaced


def room_for_hints(cluster: Cluster, snapshot: Snapshot, settings: Settings) -> int:
    """How many workers may be replaced on a hint, beside all that stay or are asked for."""
    return max(0, settings.max_workers - _left(cluster, snapshot))


def _left(cluster: Cluster, snapshot: Snapshot) -> int:
    """Workers that there are or may be, without all that have a notice or a hint."""
    hinted = sum(
        not affected.kind.is_certain and affected.replacement != DECLINED for affected in cluster.interrupted
    )
    return size(cluster, snapshot) - hinted


def needs_for(
    wanted: Sequence[Interrupted], purpose: Purpose, snapshot: Snapshot, settings: Settings
) -> tuple[Need, ...]:
    """One worker of the same pool for each."""
    counts = Counter(pools_of(wanted, snapshot, settings).values())
    why = "replaces interrupted workers"
    return tuple(Need(pool, count, why, purpose=purpose) for pool, count in counts.items())


def covered(
    wanted: Sequence[Interrupted], rows: Sequence[Launch], snapshot: Snapshot, settings: Settings
) -> list[Interrupted]:
    """Those for which these requests bring a worker of their own pool."""
    pools, left = pools_of(wanted, snapshot, settings), Counter[str]()
    for row in rows:
        left[row.pool] += row.count
    chosen: list[Interrupted] = []
    for affected in wanted:
        pool = pools[affected.instance_id]
        if left[pool] > 0:
            left[pool] -= 1
            chosen.append(affected)
    return chosen


def pools_of(interrupts: Sequence[Interrupted], snapshot: Snapshot, settings: Settings) -> dict[str, str]:
    seen = {worker.instance_id: worker.instance.pool for worker in snapshot.workers}
    first = settings.pools[0].name
    return {
        affected.instance_id: pool if settings.pool(pool := seen.get(affected.instance_id, "")) else first
        for affected in interrupts
    }


def answered(cluster: Cluster, interrupts: Sequence[Interrupted], replacement: str) -> Cluster:
    """The record in which these are replaced by that action, or not at all."""
    ids = {affected.instance_id for affected in interrupts}
    return replace(
        cluster,
        interrupted=tuple(
            replace(affected, replacement=replacement) if affected.instance_id in ids else affected
            for affected in cluster.interrupted
        ),
    )


def unneeded(cluster: Cluster, spare: Sequence[Interrupted], now_s: float) -> Write[Cluster]:
    """Write down that these leave without a replacement."""
    spare = spare[:EVENTS_MAX]
    events = tuple(
        Event(AutoscalerEvent.NOT_REPLACED, now_s, about=affected.instance_id, reason="the others are enough")
        for affected in spare
    )
    return Write(answered(cluster, spare, UNNEEDED), events)


def declined(cluster: Cluster, hints: Sequence[Interrupted], why: str, now_s: float) -> Write[Cluster]:
    """Write down that these hints are not followed."""
    hints = hints[:EVENTS_MAX]
    events = tuple(
        Event(AutoscalerEvent.NOT_REPLACED, now_s, about=affected.instance_id, reason=f"a hint: {why}")
        for affected in hints
    )
    return Write(answered(cluster, hints, DECLINED), events)


def effects(cluster: Cluster, snapshot: Snapshot, now_s: float) -> tuple[Effect, ...]:
    """Drain what is certain to go; cordon what may go, and drain it once it is replaced.

    A node that is not ready takes no pod and heeds no drain: it is left alone until its machine is ended.
    """
    joined = {worker.instance_id: worker for worker in snapshot.workers if worker.node_name}
    due: list[Effect] = []
    for noted in cluster.interrupted:
        worker = joined.get(noted.instance_id)
        affected = as_seen(noted, snapshot)
        if worker is None or not worker.alive or affected.drained or affected.replacement == DECLINED:
            continue
        if affected.kind is NoticeKind.NOT_READY:
            continue
        if affected.kind is NoticeKind.INTERRUPTION:
            due.append(Drain(affected.instance_id, affected.action_id, affected.deadline_s))
        elif not affected.kind.is_certain and affected.replacement in (READY, UNNEEDED):
            due.append(Drain(affected.instance_id, affected.action_id))
        elif affected.kind is NoticeKind.REPLACE:
            continue  # it serves until its replacement does
        elif affected.replacement and affected.action_id not in worker.cordons:
            due.append(CordonNode(affected.instance_id, affected.action_id))
    return tuple(due)


def settle(cluster: Cluster, effect: Drain, outcome: Outcome, now_s: float) -> Write[Cluster] | None:
    """Note the end of an interrupted node's drain; of a hint that cannot be followed, its end."""
    affected = cluster.interruption_of(effect.instance_id)
    if affected is None or affected.action_id != effect.action_id or affected.drained:
        return None
    if not isinstance(outcome, Happened) or not isinstance(outcome.answer, Drained):
        return None
    if outcome.answer.blocked_by:
        if affected.kind.is_certain:
            return None
        if affected.kind is NoticeKind.REPLACE:
            return left_for_a_while(cluster, affected, outcome.answer.blocked_by, now_s)
        kept = tuple(one for one in cluster.interrupted if one.instance_id != affected.instance_id)
        event = Event(
            AutoscalerEvent.DRAIN_SKIPPED, now_s, about=affected.instance_id, reason=outcome.answer.blocked_by
        )
        return Write(replace(cluster, interrupted=kept), (event,))
    if outcome.answer.left:
        return None
    rows = tuple(replace(one, drained=True) if one == affected else one for one in cluster.interrupted)
    drained = Event(
        AutoscalerEvent.DRAINED,
        now_s,
        about=affected.instance_id,
        numbers={"before_s": affected.deadline_s - now_s},
    )
    return Write(replace(cluster, interrupted=rows), (drained,))


def end(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Write[Cluster] | None:
    """Let go of what is gone, was let go, or was replaced on a hint and can be ended now."""
    workers = {worker.instance_id: worker for worker in snapshot.workers}
    interrupted, gone, condemned = list(cluster.interrupted), list(cluster.gone), list(cluster.condemned)
    events: list[Event] = []
    expired: list[Interrupted] = []
    going = {affected.instance_id for affected in cluster.interrupted}
    left = [worker for worker in serving(cluster, snapshot) if worker.instance_id not in going]
    for affected in cluster.interrupted:
        worker = workers.get(affected.instance_id)
        if worker is None and affected.instance_id in snapshot.reporting:
            continue  # its kubelet reports: it is not gone
        what = fate(
            as_seen(affected, snapshot), worker, left, settings, now_s, troubled=bool(snapshot.troubles)
        )
        if not what or len(events) == EVENTS_MAX:
            continue
        interrupted.remove(affected)
        if what is AutoscalerEvent.RECLAIMED:
            gone.append(Tombstone(affected.instance_id, int(now_s)))
        elif what is AutoscalerEvent.TERMINATING and not cluster.is_condemned(affected.instance_id):
            why = "not ready for too long" if affected.kind is NoticeKind.NOT_READY else "replaced"
            condemned.append(Condemned(affected.instance_id, affected.action_id, why, int(now_s)))
        elif what is AutoscalerEvent.NOTICE_EXPIRED:
            expired.append(affected)
        events.append(Event(what, now_s, about=affected.instance_id, reason=affected.kind.value))
    if not events:
        return None
    ended = replace(cluster, interrupted=tuple(interrupted), gone=tuple(gone), condemned=tuple(condemned))
    if any(row.kind is NoticeKind.REPLACE for row in expired):
        ended = replace(ended, skipped=skipping(cluster, expired, "it was not replaced in time", now_s))
    return Write(ended, tuple(events))


def still_to_do(cluster: Cluster, snapshot: Snapshot) -> bool:
    """Whether a deadline is running for anything that we could still do."""
    alive = {worker.instance_id for worker in staying(replace(cluster, interrupted=()), snapshot)}
    return any(
        affected.kind is NoticeKind.INTERRUPTION and not affected.drained and affected.instance_id in alive
        for affected in cluster.interrupted
    )
