"""Machines that the cloud takes back: note, replace, drain against the deadline, forget.

Rule 1: whoever comes folds *all* waiting notices into the record, in one commit.  So no two
        notices race, and a duplicate changes nothing, however late it comes.
Rule 2: no notice waits for a running action.  A growth is extended; a shrink ends, because
        what the cloud takes may be the very surplus it was for.
Rule 3: the replacement is decided in the record, once for each doomed machine, and only if the
        fleet still needs it.  Launching comes first, draining runs beside it.
Rule 4: a rebalance recommendation is a hint: replace and cordon, but drain only when the
        replacement is ready.  Without a replacement, the hint is let go.
Rule 5: only machines of this cluster.  A notice for anybody else's is dropped, and nothing is touched.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from holdfast.autoscaler.fleet import by_zone, serving, size, staying, unlisted
from holdfast.autoscaler.ports import CordonNode, Drain, Drained, Effect, ForgetNotices
from holdfast.autoscaler.record import (
    READY,
    UNNEEDED,
    Cluster,
    Condemned,
    Doomed,
    Launch,
    Tombstone,
)
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.sight import Need, Sight, Worker
from holdfast.cloud import LEAVING, Notice, NoticeKind, State
from holdfast.kernel import Event, Happened, Outcome, Write
from holdfast.kernel.write import EVENTS_MAX

STRANGER_S = 120
"""So long may a machine of ours be missing in the listing before its notice counts as a stranger's."""
SPARED_S = 600
"""A machine that lives so long after its deadline was spared after all."""
HINT_S = 3_600
"""A hint that nothing came of for so long is let go."""
WEIGHED_MAX = 40
"""Doomed machines whose pods are weighed one by one; beyond that, each is taken to be needed."""


def fold(cluster: Cluster, sight: Sight, settings: Settings, now_s: float) -> Write[Cluster] | None:
    """Take all waiting notices of our machines into the record."""
    doomed = {doom.instance_id: doom for doom in cluster.doomed}
    ours = {worker.instance_id for worker in sight.workers} | set(unlisted(cluster, sight))
    events: list[Event] = []
    for notice in sorted(sight.notices):
        before = doomed.get(notice.instance_id)
        if notice.instance_id not in ours or not _is_news(cluster, before, notice, settings, now_s):
            continue
        deadline_s = notice.deadline_s or notice.at_s
        doom = Doomed(notice.instance_id, notice.kind, notice.at_s, deadline_s)
        # A hint that has become certain keeps the replacement that it already has.
        doomed[notice.instance_id] = replace(doom, replacement=before.replacement) if before else doom
        numbers = {"deadlineEpoch": deadline_s}
        events.append(
            Event("doomed", now_s, about=notice.instance_id, reason=notice.kind.value, numbers=numbers)
        )
        if len(events) == EVENTS_MAX:
            break
    return Write(replace(cluster, doomed=tuple(doomed.values())), tuple(events)) if events else None


def forget(cluster: Cluster, sight: Sight, settings: Settings, now_s: float) -> tuple[Effect, ...]:
    """Notices that say nothing new any more."""
    ours = {worker.instance_id for worker in sight.workers} | set(unlisted(cluster, sight))
    old = [
        notice.key
        for notice in sight.notices
        if not _is_news(cluster, cluster.doom_of(notice.instance_id), notice, settings, now_s)
        or (notice.instance_id not in ours and now_s - notice.at_s > STRANGER_S)
    ]
    return (ForgetNotices(tuple(old)),) if old else ()


def _is_news(cluster: Cluster, doom: Doomed | None, notice: Notice, settings: Settings, now_s: float) -> bool:
    if notice.kind is NoticeKind.REBALANCE and not settings.rebalance_replaces:
        return False
    if _is_over(notice.kind, notice.at_s, notice.deadline_s or notice.at_s, now_s):
        return False  # it would be let go at once, and folded in again, for ever
    if cluster.is_gone(notice.instance_id) or now_s - notice.at_s > settings.remember_s:
        # Older than what we remember: it may be one that we removed ourselves.
        return False
    if cluster.is_condemned(notice.instance_id):
        return False  # it leaves anyway, and nobody waits for it
    return doom is None or _certainty(notice.kind) > _certainty(doom.kind)


def _is_over(kind: NoticeKind, at_s: float, deadline_s: float, now_s: float) -> bool:
    """Whether a machine that still lives was spared."""
    if kind is NoticeKind.REBALANCE:
        return now_s - at_s > HINT_S
    return now_s - deadline_s > SPARED_S


def _certainty(kind: NoticeKind) -> int:
    return (NoticeKind.REBALANCE, NoticeKind.INTERRUPTION, NoticeKind.GONE).index(kind)


def unanswered(cluster: Cluster, settings: Settings) -> tuple[Doomed, ...]:
    """Doomed machines for which it is not decided yet whether they are replaced."""
    return tuple(
        doom
        for doom in cluster.doomed
        if not doom.replacement and (doom.kind is not NoticeKind.REBALANCE or settings.rebalance_replaces)
    )


def needed(
    cluster: Cluster, sight: Sight, waiting: Sequence[Doomed], settings: Settings
) -> tuple[list[Doomed], list[Doomed]]:
    """Those that the fleet still needs, and those that it does not."""
    doomed = frozenset(doom.instance_id for doom in cluster.doomed)
    closed = doomed | {one.instance_id for one in cluster.condemned}
    left = size(cluster, sight) - sum(doom.kind is NoticeKind.REBALANCE for doom in cluster.doomed)
    wanted: list[Doomed] = []
    spare: list[Doomed] = []
    unreplaced = {doom.instance_id for doom in cluster.doomed if doom.replacement == UNNEEDED}
    for n, doom in enumerate(waiting):
        leaving = frozenset({*unreplaced, *(d.instance_id for d in spare), doom.instance_id})
        above_floor = left + len(wanted) >= settings.min_workers
        weighed = n < WEIGHED_MAX or not wanted
        if above_floor and weighed and not sight.fits_without(leaving, closed):
            spare.append(doom)
        else:
            wanted.append(doom)
    return wanted, spare


def needs_for(wanted: Sequence[Doomed], sight: Sight, settings: Settings) -> tuple[Need, ...]:
    """One worker of the same pool for each."""
    counts = Counter(_pools_of(wanted, sight, settings).values())
    return tuple(Need(pool, count, "replaces doomed workers") for pool, count in counts.items())


def covered(
    wanted: Sequence[Doomed], rows: Sequence[Launch], sight: Sight, settings: Settings
) -> list[Doomed]:
    """Those for which these requests bring a worker of their own pool."""
    pools, left = _pools_of(wanted, sight, settings), Counter[str]()
    for row in rows:
        left[row.pool] += row.count
    chosen: list[Doomed] = []
    for doom in wanted:
        pool = pools[doom.instance_id]
        if left[pool] > 0:
            left[pool] -= 1
            chosen.append(doom)
    return chosen


def _pools_of(dooms: Sequence[Doomed], sight: Sight, settings: Settings) -> dict[str, str]:
    seen = {worker.instance_id: worker.instance.pool for worker in sight.workers}
    first = settings.pools[0].name
    return {
        doom.instance_id: pool if settings.pool(pool := seen.get(doom.instance_id, "")) else first
        for doom in dooms
    }


def answered(cluster: Cluster, dooms: Sequence[Doomed], replacement: str) -> Cluster:
    """The record in which these are replaced by that action, or not at all."""
    ids = {doom.instance_id for doom in dooms}
    return replace(
        cluster,
        doomed=tuple(
            replace(doom, replacement=replacement) if doom.instance_id in ids else doom
            for doom in cluster.doomed
        ),
    )


def unneeded(cluster: Cluster, spare: Sequence[Doomed], now_s: float) -> Write[Cluster]:
    """Write down that these leave without a replacement."""
    spare = spare[:EVENTS_MAX]
    events = tuple(
        Event("notReplaced", now_s, about=doom.instance_id, reason="its pods fit elsewhere") for doom in spare
    )
    return Write(answered(cluster, spare, UNNEEDED), events)


def effects(cluster: Cluster, sight: Sight, now_s: float) -> tuple[Effect, ...]:
    """Drain what is certain to go; cordon what may go, and drain it once it is replaced."""
    joined = {worker.instance_id: worker for worker in sight.workers if worker.node_name}
    due: list[Effect] = []
    for doom in cluster.doomed:
        worker = joined.get(doom.instance_id)
        if worker is None or not worker.alive or doom.drained:
            continue
        if doom.kind is NoticeKind.INTERRUPTION:
            due.append(Drain(doom.instance_id, doom.action_id, doom.deadline_s))
        elif doom.kind is NoticeKind.REBALANCE and doom.replacement in (READY, UNNEEDED):
            due.append(Drain(doom.instance_id, doom.action_id))
        elif doom.replacement and doom.action_id not in worker.cordons:
            due.append(CordonNode(doom.instance_id, doom.action_id))
    return tuple(due)


def settle(cluster: Cluster, effect: Drain, outcome: Outcome, now_s: float) -> Write[Cluster] | None:
    """Note the end of a doomed node's drain; of a hint that cannot be followed, its end."""
    doom = cluster.doom_of(effect.instance_id)
    if doom is None or doom.action_id != effect.action_id or doom.drained:
        return None
    if not isinstance(outcome, Happened) or not isinstance(outcome.answer, Drained):
        return None
    if outcome.answer.blocked_by:
        if doom.kind is not NoticeKind.REBALANCE:
            return None
        kept = tuple(one for one in cluster.doomed if one.instance_id != doom.instance_id)
        event = Event("kept", now_s, about=doom.instance_id, reason=outcome.answer.blocked_by)
        return Write(replace(cluster, doomed=kept), (event,))
    if outcome.answer.left:
        return None
    rows = tuple(replace(one, drained=True) if one == doom else one for one in cluster.doomed)
    drained = Event("drained", now_s, about=doom.instance_id, numbers={"before_s": doom.deadline_s - now_s})
    return Write(replace(cluster, doomed=rows), (drained,))


def end(cluster: Cluster, sight: Sight, settings: Settings, now_s: float) -> Write[Cluster] | None:
    """Let go of what is gone, was spared, or was replaced on a hint and can be ended now."""
    workers = {worker.instance_id: worker for worker in sight.workers}
    doomed, gone, condemned = list(cluster.doomed), list(cluster.gone), list(cluster.condemned)
    events: list[Event] = []
    going = {doom.instance_id for doom in cluster.doomed}
    left = [worker for worker in serving(cluster, sight) if worker.instance_id not in going]
    for doom in cluster.doomed:
        worker = workers.get(doom.instance_id)
        what = _fate(doom, worker, left, settings, now_s)
        if not what or len(events) == EVENTS_MAX:
            continue
        doomed.remove(doom)
        if what == "tookBack":
            gone.append(Tombstone(doom.instance_id, int(now_s)))
        elif what == "condemned" and not cluster.is_condemned(doom.instance_id):
            condemned.append(Condemned(doom.instance_id, doom.action_id, "replaced", int(now_s)))
        events.append(Event(what, now_s, about=doom.instance_id, reason=doom.kind.value))
    if not events:
        return None
    ended = replace(cluster, doomed=tuple(doomed), gone=tuple(gone), condemned=tuple(condemned))
    return Write(ended, tuple(events))


def _fate(
    doom: Doomed, worker: Worker | None, left: Sequence[Worker], settings: Settings, now_s: float
) -> str:
    undecided = not doom.replacement
    if doom.kind is NoticeKind.REBALANCE and not settings.rebalance_replaces:
        return "spared"
    if worker is None:
        absent = now_s - doom.deadline_s > settings.absent_s
        return "tookBack" if absent and not undecided else ""
    if worker.instance.state in LEAVING:
        return "" if undecided else "tookBack"
    if worker.instance.state is State.STOPPED and worker.ours and not undecided:
        return "condemned"
    drained = doom.kind is NoticeKind.REBALANCE and doom.drained
    if drained and worker.ours and _is_dispensable(worker, left, settings):
        return "condemned"
    return "spared" if _is_over(doom.kind, doom.at_s, doom.deadline_s, now_s) else ""


def _is_dispensable(worker: Worker, left: Sequence[Worker], settings: Settings) -> bool:
    """The floors hold without it, its pool's too, and its zone does not stand empty beside others."""
    of_pool = sum(other.instance.pool == worker.instance.pool for other in left)
    pool = settings.pool(worker.instance.pool)
    zones = by_zone(left)
    return (
        len(left) >= settings.min_workers
        and of_pool >= (pool.min_workers if pool else 0)
        and (worker.instance.zone in zones or not zones)
    )


def still_to_do(cluster: Cluster, sight: Sight) -> bool:
    """Whether a deadline is running for anything that we could still do."""
    alive = {worker.instance_id for worker in staying(replace(cluster, doomed=()), sight)}
    return any(
        doom.kind is NoticeKind.INTERRUPTION and not doom.drained and doom.instance_id in alive
        for doom in cluster.doomed
    )
