"""Which pools are idle, and since when.

Pool by pool: pods that wait for one pool, or keep it busy, say nothing about the workers of another.
"""

from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot


def idle_pools(snapshot: Snapshot, settings: Settings) -> tuple[str, ...]:
    """Little load now and over the whole window, and no pod waits for room there."""
    there = {worker.instance.pool for worker in snapshot.workers if worker.alive and worker.node_name}
    return tuple(
        pool.name
        for pool in settings.pools
        if (pool.name in there or len(settings.pools) == 1)
        and not snapshot.pods_wait_for(pool.name)
        and _is_calm(snapshot, pool.name, settings)
    )


def _is_calm(snapshot: Snapshot, pool: str, settings: Settings) -> bool:
    load = snapshot.loads.get(pool, snapshot.load)
    if load.cpu is None:
        return False
    return load.cpu < settings.cpu_down and (load.peak is None or load.peak < settings.cpu_down)


def idle_since(cluster: Cluster, pool: str) -> int:
    """0: it is not.  Where there is one pool, the fleet's own stamp says it."""
    if not cluster.pools_idle:
        return cluster.idle_since_s
    return next((one.since_s for one in cluster.pools_idle if one.pool == pool), 0)


def idle_for_long(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> frozenset[str]:
    """The pools that may give workers away."""
    return frozenset(
        pool
        for pool in idle_pools(snapshot, settings)
        if (since_s := idle_since(cluster, pool)) and now_s - min(since_s, now_s) >= settings.idle_down_s
    )
