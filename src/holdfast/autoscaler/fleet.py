"""Who counts as a worker: what the record knows outranks what was seen.

A listing lags behind in both directions.  So a machine that we launched counts before it is
listed, and one that we removed does not count while it still is.  Each count errs to the safe
side of the question it answers.
"""

from collections import Counter
from collections.abc import Iterable

from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.snapshot import Snapshot, Worker


def is_leaving(cluster: Cluster, instance_id: str) -> bool:
    """Gone, condemned, or certain to be taken back: no capacity to build on.  A hint is not certain."""
    return instance_id in _leaving_ids(cluster)


def staying(cluster: Cluster, snapshot: Snapshot) -> tuple[Worker, ...]:
    """Every listed worker that lives and will go on living, joined or not."""
    leaving = _leaving_ids(cluster)
    return tuple(w for w in snapshot.workers if w.alive and w.instance_id not in leaving)


def serving(cluster: Cluster, snapshot: Snapshot) -> tuple[Worker, ...]:
    """Those of the staying that take pods: what a floor is made of."""
    return tuple(w for w in staying(cluster, snapshot) if w.ready and not w.joining)


def reliable(cluster: Cluster, snapshot: Snapshot) -> tuple[Worker, ...]:
    """Those of the serving that the cloud has not even hinted it would take back.

    A scale-down leaves the floor to these alone: a hinted worker still serves, so that no scale-up is due
    for it, but nothing else may leave because it is there.
    """
    hinted = {affected.instance_id for affected in cluster.interrupted}
    return tuple(w for w in serving(cluster, snapshot) if w.instance_id not in hinted)


def unlisted(cluster: Cluster, snapshot: Snapshot) -> tuple[str, ...]:
    """Launched by us, and not listed yet."""
    listed = {worker.instance_id for worker in snapshot.workers}
    known = [recent.instance_id for recent in cluster.recent]
    if cluster.scale_up is not None:
        known += cluster.scale_up.joining
        known += cluster.scale_up.joined
    leaving = _leaving_ids(cluster)
    return tuple(dict.fromkeys(i for i in known if i not in listed and i not in leaving))


def size(cluster: Cluster, snapshot: Snapshot) -> int:
    """Workers that there are or may be: never too few, so that scale-up stays within its bounds."""
    asked_for = cluster.scale_up.owed if cluster.scale_up else 0
    waiting = {*unlisted(cluster, snapshot), *_reporting(cluster, snapshot)}
    return len(staying(cluster, snapshot)) + len(waiting) + asked_for


def _reporting(cluster: Cluster, snapshot: Snapshot) -> list[str]:
    """Machines that are not listed, and whose kubelets report: in another region, or with other tags."""
    leaving = _leaving_ids(cluster)
    return [instance_id for instance_id in snapshot.reporting if instance_id not in leaving]


def possible_size(cluster: Cluster, snapshot: Snapshot) -> int:
    """The same, with machines that are not listed and silent now, while a listing is in doubt.

    One look in which a kubelet is late must not let pods have a worker more than there may be.
    """
    leaving = _leaving_ids(cluster)
    silent = [ghost for ghost in snapshot.ghosts if ghost.state is None and not ghost.ready]
    unsure = sum(ghost.instance_id not in leaving for ghost in silent) if snapshot.doubts else 0
    return size(cluster, snapshot) + unsure


def size_of_pool(cluster: Cluster, snapshot: Snapshot, pool: str) -> int:
    waiting = {recent.instance_id for recent in cluster.recent if recent.pool == pool}
    asked_for = 0
    if cluster.scale_up is not None:
        for launch in cluster.scale_up.launches:
            if launch.pool == pool:
                waiting.update(launch.instance_ids)
                asked_for += launch.owed
    seen = sum(worker.instance.pool == pool for worker in staying(cluster, snapshot))
    return seen + len(waiting.intersection(unlisted(cluster, snapshot))) + asked_for


def by_zone(workers: Iterable[Worker]) -> Counter[str]:
    return Counter(worker.instance.zone for worker in workers)


def on_its_way(cluster: Cluster, snapshot: Snapshot) -> int:
    """Workers that will take pods before long, and do not yet.

    A node that had joined and is not ready is broken, not late: pods that wait for it wait for ever.
    """
    up = cluster.scale_up
    joining = frozenset(up.joining if up else ())
    lost = {worker.instance_id for worker in without_node(cluster, snapshot)}
    coming = [
        worker
        for worker in staying(cluster, snapshot)
        if worker.instance_id in joining
        or (worker.ours and worker.instance_id not in lost and (worker.joining or not worker.node_name))
    ]
    return len(coming) + len(unlisted(cluster, snapshot)) + (up.owed if up else 0)


def without_node(cluster: Cluster, snapshot: Snapshot) -> tuple[Worker, ...]:
    """Machines that live, and whose node is gone or never came: they take no pod, and none is on its way."""
    up = cluster.scale_up
    joined = {recent.instance_id for recent in cluster.recent} | set(up.joined if up else ())
    joining = frozenset(up.joining if up else ())
    return tuple(
        worker
        for worker in staying(cluster, snapshot)
        if not worker.node_name
        and not worker.namesake
        and not worker.has_pods
        and worker.instance_id not in joining
        and (worker.late or worker.instance_id in joined)
    )


def _leaving_ids(cluster: Cluster) -> frozenset[str]:
    return frozenset(
        [stone.instance_id for stone in cluster.gone]
        + [one.instance_id for one in cluster.condemned]
        + [affected.instance_id for affected in cluster.interrupted if affected.kind.is_certain]
    )
