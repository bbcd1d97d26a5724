"""What the cloud answered to a request for capacity, noted in the record."""

from dataclasses import replace

from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.ports import LaunchInstances
from holdfast.autoscaler.record import Cluster, Launch, LaunchStatus, ScaleUp, Unavailable
from holdfast.autoscaler.settings import Settings
from holdfast.cloud.launches import Launched, Refusal, Refused
from holdfast.kernel import Event, Happened, Outcome, Write

QUOTA_S = 1_800
"""How long a market is left alone in which the account may have no more."""


def settle(
    cluster: Cluster, effect: LaunchInstances, outcome: Outcome, settings: Settings, now_s: float
) -> Write[Cluster] | None:
    """Note the answer to a request.  A lost answer is asked for again, with the same token."""
    up = cluster.scale_up
    if up is None or up.action_id != effect.action_id or not isinstance(outcome, Happened):
        return None
    row = effect.launch
    now = next((r for r in up.intended if (r.group, r.attempt) == (row.group, row.attempt)), None)
    if now is None:
        return None
    match outcome.answer:
        case Launched(instance_ids):
            return _record(cluster, up, now, instance_ids, settings, now_s)
        case Refused(kind, message):
            return _refused(cluster, up, now, kind, message, settings, now_s)
    return None


def with_row(cluster: Cluster, up: ScaleUp, row: Launch, new: Launch, event: Event) -> Write[Cluster]:
    """The open scale-up with one of its requests renewed."""
    launches = tuple(new if r == row else r for r in up.launches)
    return Write(replace(cluster, scale_up=replace(up, launches=launches)), (event,))


def _record(
    cluster: Cluster,
    up: ScaleUp,
    row: Launch,
    instance_ids: tuple[str, ...],
    settings: Settings,
    now_s: float,
) -> Write[Cluster]:
    answered = replace(row, status=LaunchStatus.ANSWERED, instance_ids=instance_ids)
    short = row.count - len(instance_ids)
    reason = f"{row.offering}: {' '.join(instance_ids)}"
    event = Event(
        AutoscalerEvent.RECORD_SCALE_UP_INSTANCES,
        now_s,
        about=up.action_id,
        reason=reason,
        numbers={"launched": len(instance_ids), "short": short},
    )
    write = with_row(cluster, up, row, answered, event)
    if short > 0:
        return Write(
            _barred(write.value, str(row.offering), settings.unavailable_s, "no more capacity", now_s),
            write.events,
        )
    return write


def _refused(
    cluster: Cluster,
    up: ScaleUp,
    row: Launch,
    kind: Refusal,
    message: str,
    settings: Settings,
    now_s: float,
) -> Write[Cluster]:
    elsewhere = kind in (Refusal.CAPACITY, Refusal.EXISTED, Refusal.MISMATCH)
    status = LaunchStatus.REFUSED if elsewhere else LaunchStatus.ABANDONED
    event = Event(
        AutoscalerEvent.LAUNCH_REFUSED,
        now_s,
        about=up.action_id,
        reason=f"{row.offering}: {kind}: {message}"[:500],
    )
    write = with_row(cluster, up, row, replace(row, status=status, reason=f"{kind}: {message}"[:200]), event)
    if kind is Refusal.CAPACITY:
        barred = _barred(write.value, str(row.offering), settings.unavailable_s, "no capacity", now_s)
        return Write(barred, write.events)
    if kind is Refusal.QUOTA:
        return Write(_barred(write.value, row.market, QUOTA_S, "quota", now_s), write.events)
    return write


def _barred(cluster: Cluster, what: str, for_s: int, why: str, now_s: float) -> Cluster:
    """Leave an offering alone for a while, or a whole market."""
    others = tuple(u for u in cluster.unavailable if u.offering != what and now_s < u.until_s)
    return replace(cluster, unavailable=(*others, Unavailable(what, int(now_s) + for_s, why)))
