"""What the cloud answered to a request for capacity, noted in the record."""

from dataclasses import replace

from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.ports import LaunchInstances
from holdfast.autoscaler.record import Cluster, Launch, LaunchStatus, ScaleUp, Unavailable
from holdfast.autoscaler.scale_up.offering_ranks import RECLAIMED, losses
from holdfast.autoscaler.settings import Settings
from holdfast.cloud.launches import Launched, Refusal, Refused
from holdfast.kernel import Event, Happened, Outcome, Write

QUOTA_S = 1_800
"""How long a family of types is left alone of which the account may have no more, and a type that does not
fit its pool: only a person mends these."""


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
    write = with_row(refunded(cluster, up.action_id, row, short), up, row, answered, event)
    if short > 0:
        return Write(
            barred(write.value, str(row.offering), settings, "no more capacity", now_s),
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
    """Only what is wrong with the pool itself is the same everywhere else: image, template, permission."""
    status = LaunchStatus.ABANDONED if kind is Refusal.REFUSED else LaunchStatus.REFUSED
    event = Event(
        AutoscalerEvent.LAUNCH_REFUSED,
        now_s,
        about=up.action_id,
        reason=f"{row.offering}: {kind}: {message}"[:500],
    )
    launched = kind in (Refusal.EXISTED, Refusal.MISMATCH)  # under this token, and perhaps by us
    unspent = cluster if launched else refunded(cluster, up.action_id, row, row.count)
    write = with_row(unspent, up, row, replace(row, status=status, reason=f"{kind}: {message}"[:200]), event)
    match kind:
        case Refusal.CAPACITY:
            return Write(barred(write.value, str(row.offering), settings, "no capacity", now_s), write.events)
        case Refusal.QUOTA:
            return Write(_for_long(write.value, row.offering.quota, "quota", now_s), write.events)
        case Refusal.SUBNET:
            return Write(barred(write.value, row.subnet_id, settings, message[:80], now_s), write.events)
        case Refusal.TYPE:
            bar = f"{row.pool}/{row.instance_type}"
            return Write(_for_long(write.value, bar, message[:80], now_s), write.events)
    return write


def refunded(cluster: Cluster, action_id: str, row: Launch, count: int) -> Cluster:
    """What was certainly not launched costs nothing: else refusals alone would spend the hour's launches."""
    spent = list(cluster.spent)
    for n, one in enumerate(spent):
        if count and one.action_id == action_id and one.purpose is row.purpose:
            back = min(count, one.count)
            count -= back
            spent[n] = replace(one, count=one.count - back)
    return replace(cluster, spent=tuple(one for one in spent if one.count))


def barred(cluster: Cluster, what: str, settings: Settings, why: str, now_s: float) -> Cluster:
    """Leave it alone for a while, and for longer each time.  One that has run out is remembered for that."""
    before = next((one for one in cluster.unavailable if one.offering == what), None)
    times = 1 + (before.times if before is not None and before.reason != RECLAIMED else 0)
    for_s = min(settings.unavailable_max_s, settings.unavailable_s * 2 ** min(times - 1, 20))
    return left_alone(cluster, Unavailable(what, int(now_s) + for_s, why, times))


def _for_long(cluster: Cluster, what: str, why: str, now_s: float) -> Cluster:
    return left_alone(cluster, Unavailable(what, int(now_s) + QUOTA_S, why))


def taken_back(cluster: Cluster, offering: str, until_s: int) -> Cluster:
    """The last choice until then, and for hours dearer than it is: the more so, the more often."""
    times = 1 + losses(cluster).get(offering, 0)
    return left_alone(cluster, Unavailable(offering, until_s, RECLAIMED, times))


def left_alone(cluster: Cluster, bar: Unavailable) -> Cluster:
    others = tuple(one for one in cluster.unavailable if one.offering != bar.offering)
    return replace(cluster, unavailable=(*others, bar))
