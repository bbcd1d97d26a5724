"""Over which pools workers are spread that no pod asks for: those of the floor, and for busy workers."""

from collections import Counter

from holdfast.autoscaler.fleet import size_of_pool
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.scale_up.launch_plan import intents
from holdfast.autoscaler.scale_up.pool_failures import is_sound
from holdfast.autoscaler.scheduling.match import KEEPS_OFF
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.snapshot import Need, Snapshot


def spread(
    count: int,
    cluster: Cluster,
    snapshot: Snapshot,
    settings: Settings,
    now_s: float,
    beside: Counter[str] | None = None,
    *,
    tainted: bool = True,
) -> dict[str, int]:
    """So many workers over the pools that have room and can be launched from, in the order of the settings.

    Pools whose taints keep ordinary pods off come last; without `tainted` they come only where all are such.
    What no pool can bring now is left with the first one that has room, so that the reason is told.
    """
    pools = sorted(settings.pools, key=_keeps_pods_off)
    if not tainted:
        pools = [pool for pool in pools if not _keeps_pods_off(pool)] or pools
    room = {p.name: p.max_workers - size_of_pool(cluster, snapshot, p.name) for p in pools}
    for name, taken in (beside or {}).items():
        room[name] = room.get(name, 0) - taken
    chosen: Counter[str] = Counter()
    for pool in pools:
        most = min(count - chosen.total(), room[pool.name])
        if most > 0 and _can_launch(pool, cluster, snapshot, settings, now_s):
            chosen[pool.name] += most
    left = count - chosen.total()
    if left > 0:
        with_room = [pool.name for pool in pools if room[pool.name] > chosen[pool.name]]
        for name in with_room[:1]:
            chosen[name] += min(left, room[name] - chosen[name])
    return dict(chosen)


def _keeps_pods_off(pool: Pool) -> bool:
    return any(taint.effect in KEEPS_OFF for taint in pool.taints)


def _can_launch(pool: Pool, cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> bool:
    if pool.name in snapshot.pool_problems or not is_sound(cluster, pool.name, now_s):
        return False
    if pool.name not in snapshot.templates:
        return any(place.pool == pool.name for place in snapshot.places)
    # Within money and shares as well: what is too dear in one pool may be had in the next.
    return bool(intents(cluster, snapshot, Need(pool.name, 1), 1, (), settings, now_s))
