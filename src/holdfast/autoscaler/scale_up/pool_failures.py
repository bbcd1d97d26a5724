"""Pools whose launches came to nothing: each backs off alone, and no other pool waits for it.

A lack of capacity is no fault of the pool.  The offerings that had none are left alone one by one, and the
pool waits only so long that those which can be asked again are asked together.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.record import Cluster, Launch, LaunchStatus, PoolFailure, Purpose, ScaleUp
from holdfast.autoscaler.settings import Settings
from holdfast.cloud.launches import Refusal
from holdfast.kernel import Event, Write

NO_ANSWER = "no answer in time"
REASON_MAX = 200


def failures_after(
    cluster: Cluster, up: ScaleUp, settings: Settings, now_s: float
) -> tuple[PoolFailure, ...]:
    """What is remembered of failures once this scale-up has ended."""
    known = {one.pool: one for one in cluster.pool_failures}
    for pool in dict.fromkeys(row.pool for row in up.launches):
        rows = [row for row in up.launches if row.pool == pool]
        why = next(_faults(rows, up), "")
        if why:
            known[pool] = failed(cluster, pool, why, settings, now_s)
        elif lacking := _lacking(rows):
            before = known.get(pool)
            until_s = int(now_s) + settings.back_off_first_s
            known[pool] = PoolFailure(pool, before.failures if before else 0, until_s, lacking[:REASON_MAX])
        else:
            known.pop(pool, None)
    if not up.launches and len(up.joined) < up.requested:
        # A writer without intents began it, for the one pool that it knew.
        pool = settings.pools[0].name
        known[pool] = failed(cluster, pool, "a machine did not join", settings, now_s)
    return tuple(known.values())


def _lacking(rows: Iterable[Launch]) -> str:
    """What kept requests from being met.  One of our own choice keeps no pod waiting for it."""
    abandoned = (row for row in rows if row.status is LaunchStatus.ABANDONED)
    return next((row.reason or "no capacity" for row in abandoned if row.purpose is not Purpose.ROTATION), "")


def failed(cluster: Cluster, pool: str, why: str, settings: Settings, now_s: float) -> PoolFailure:
    before = cluster.failure_of(pool)
    failures = 1 + (before.failures if before else 0)
    wait_s = min(settings.back_off_max_s, settings.back_off_first_s * 2 ** min(failures - 1, 20))
    return PoolFailure(pool, failures, int(now_s) + wait_s, why[:REASON_MAX])


def fails_now(cluster: Cluster, pool: str) -> bool:
    """Whether something that the open scale-up asked of this pool has come to nothing."""
    up = cluster.scale_up
    if up is None:
        return False
    rows = [row for row in up.launches if row.pool == pool]
    lost = set(up.lost)
    return any(row.status is LaunchStatus.ABANDONED or lost.intersection(row.instance_ids) for row in rows)


def is_sound(cluster: Cluster, pool: str, now_s: float) -> bool:
    """Whether it may be asked for more: it does not back off, and will not when the open scale-up ends."""
    return not cluster.backs_off(pool, now_s) and not fails_now(cluster, pool)


def template_refused(
    cluster: Cluster, pool: str, message: str, settings: Settings, now_s: float
) -> Write[Cluster] | None:
    """No template of its can be made: until that is mended, the pool is left alone."""
    if cluster.backs_off(pool, now_s):
        return None
    failure = failed(cluster, pool, message, settings, now_s)
    others = tuple(one for one in cluster.pool_failures if one.pool != pool)
    event = Event(
        AutoscalerEvent.POOL_FAILED,
        now_s,
        about=pool,
        reason=message[:500],
        numbers={"backOff_s": failure.until_s - int(now_s)},
    )
    return Write(replace(cluster, pool_failures=(*others, failure)), (event,))


def _faults(rows: Iterable[Launch], up: ScaleUp) -> Iterator[str]:
    lost = set(up.lost)
    for row in rows:
        if row.status is LaunchStatus.ABANDONED and (
            row.reason == NO_ANSWER or row.reason.startswith(f"{Refusal.REFUSED}:")
        ):
            yield row.reason
        if lost.intersection(row.instance_ids):
            yield "a machine did not join"
