"""What becomes of an interrupted machine in the end: taken back, ended by us, or let go."""

from collections.abc import Sequence
from dataclasses import replace

from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.fleet import by_zone
from holdfast.autoscaler.record import READY, UNNEEDED, Interrupted
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot, Worker
from holdfast.cloud import LEAVING, NoticeKind, State

NOTICE_EXPIRED_S = 600
"""A machine that lives so long after its deadline was let go after all."""
HINT_S = 3_600
"""A hint that nothing came of for so long is let go."""


def is_over(kind: NoticeKind, at_s: float, deadline_s: float, now_s: float) -> bool:
    """Whether a machine that still lives was let go."""
    if kind is NoticeKind.REBALANCE:
        return now_s - at_s > HINT_S
    if kind is NoticeKind.NOT_READY:
        return False
    return now_s - deadline_s > (0 if kind is NoticeKind.REPLACE else NOTICE_EXPIRED_S)


def as_seen(affected: Interrupted, snapshot: Snapshot) -> Interrupted:
    """What leaves by a hint or by choice is not drained while pods are listed on its node.

    It was noted by a list that may have been wrong, or pods have come since: it is drained anew.  For what is
    certain to go it does not matter: it is not ours to end.
    """
    if not affected.drained or affected.kind.is_certain or not snapshot.is_occupied(affected.instance_id):
        return affected
    return replace(affected, drained=False)


def fate(
    affected: Interrupted,
    worker: Worker | None,
    left: Sequence[Worker],
    settings: Settings,
    now_s: float,
    *,
    troubled: bool,
) -> AutoscalerEvent | None:
    undecided = not affected.replacement
    if affected.kind is NoticeKind.REBALANCE and not settings.rebalance_replaces:
        return AutoscalerEvent.NOTICE_EXPIRED
    if affected.kind is NoticeKind.REPLACE and undecided and (worker is None or not worker.alive):
        return AutoscalerEvent.NOTICE_EXPIRED
    if worker is None:
        absent = now_s - affected.deadline_s > settings.absent_s
        return AutoscalerEvent.RECLAIMED if absent and not undecided else None
    if worker.instance.state in LEAVING:
        return None if undecided else AutoscalerEvent.RECLAIMED
    if affected.kind is NoticeKind.REPLACE:
        return _fate_of_chosen(affected, worker, left, settings, now_s, troubled=troubled)
    if worker.instance.state is State.STOPPED and worker.ours and not undecided:
        return AutoscalerEvent.TERMINATING
    if affected.kind is NoticeKind.NOT_READY:
        return _fate_of_not_ready(affected, worker, troubled=troubled)
    drained = affected.kind is NoticeKind.REBALANCE and affected.drained
    if drained and worker.ours and _is_dispensable(worker, left, settings):
        return AutoscalerEvent.TERMINATING
    over = is_over(affected.kind, affected.at_s, affected.deadline_s, now_s)
    return AutoscalerEvent.NOTICE_EXPIRED if over else None


def _fate_of_chosen(
    affected: Interrupted,
    worker: Worker,
    left: Sequence[Worker],
    settings: Settings,
    now_s: float,
    *,
    troubled: bool,
) -> AutoscalerEvent | None:
    """It is ended once its replacement is ready and it is empty itself; otherwise it stays."""
    ready = affected.replacement == READY and affected.drained and not troubled
    if ready and worker.ours and _is_dispensable(worker, left, settings):
        return AutoscalerEvent.TERMINATING
    over = is_over(affected.kind, affected.at_s, affected.deadline_s, now_s)
    return AutoscalerEvent.NOTICE_EXPIRED if over else None


def _fate_of_not_ready(affected: Interrupted, worker: Worker, *, troubled: bool) -> AutoscalerEvent | None:
    """It is ended once it is replaced, and kept if it comes back; with many at once it is only replaced."""
    if worker.ready:
        return AutoscalerEvent.NOTICE_EXPIRED
    replaced = affected.replacement in (READY, UNNEEDED)
    return AutoscalerEvent.TERMINATING if replaced and worker.ours and not troubled else None


def _is_dispensable(worker: Worker, left: Sequence[Worker], settings: Settings) -> bool:
    """The floors hold without it, its pool's too, and its zone does not stand empty beside others."""
    of_pool = sum(other.instance.pool == worker.instance.pool for other in left)
    pool = settings.pool(worker.instance.pool)
    zones = by_zone(left)
    return (
        len(left) >= settings.min_workers
        and of_pool >= (pool.min_workers if pool else 0)
        and (worker.instance.zone in zones or not zones or not settings.keep_last_of_zone)
    )
