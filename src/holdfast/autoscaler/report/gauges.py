"""The figures that a monitor watches, from one record and one look.

The daemon shows them to Prometheus, the Lambda writes them into its log for CloudWatch.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from holdfast.autoscaler.disruption import share
from holdfast.autoscaler.fleet import size
from holdfast.autoscaler.operator import is_paused
from holdfast.autoscaler.record import OPEN, READY, Cluster
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot, Worker
from holdfast.autoscaler.sweep.joined import this_hour
from holdfast.cloud import NoticeKind
from holdfast.kernel import Logged

HOUR_S = 3_600

Gauge = tuple[str, Mapping[str, str], float, str]
"""Name, labels, value, and what it means."""

STATES = ("serving", "joining", "not-ready", "cordoned", "draining", "interrupted", "terminating", "leaving")


def state_of(cluster: Cluster, worker: Worker) -> str:
    """The one word that says most about a worker."""
    instance_id = worker.instance_id
    draining = cluster.scale_down.having(*OPEN) if cluster.scale_down else ()
    if not worker.alive or cluster.is_gone(instance_id):
        return "leaving"
    if cluster.is_condemned(instance_id):
        return "terminating"
    row = cluster.interruption_of(instance_id)
    if row is not None and row.kind is not NoticeKind.REPLACE:
        return "interrupted"
    if row is not None and row.replacement == READY:
        return "draining"
    if instance_id in draining:
        return "draining"
    if not worker.node_name and (worker.late or cluster.has_joined(worker.instance)):
        return "not-ready"
    if worker.joining or not worker.node_name:
        return "joining"
    if not worker.ready:
        return "not-ready"
    return "cordoned" if worker.cordoned else "serving"


def launched_last_hour(cluster: Cluster, now_s: float) -> int:
    return sum(spent.count for spent in cluster.spent if now_s - spent.at_s < HOUR_S)


def refused_to_end(cluster: Cluster) -> list[str]:
    """Machines that the cloud refuses to end."""
    return [one.instance_id for one in cluster.condemned if one.refused]


def gauges(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> list[Gauge]:
    """Every figure, each with the cluster's name; one that is not known is left out."""
    own = {"cluster": settings.cluster_name}
    found: list[Gauge] = [
        *_workers(cluster, snapshot, own),
        ("holdfast_fleet_size", own, size(cluster, snapshot), "Workers that there are or may be."),
        ("holdfast_workers_min", own, settings.min_workers, "The floor, MIN_WORKERS."),
        ("holdfast_workers_max", own, settings.max_workers, "The ceiling, MAX_WORKERS."),
        ("holdfast_pending_pods", own, snapshot.pending, "Pods that wait and that a new node would take."),
        (
            "holdfast_unsatisfiable_pods",
            own,
            len(snapshot.unsatisfiable),
            "Pods that no pool could ever run.",
        ),
        ("holdfast_interrupted", own, _noticed(cluster), "Instances with a notice."),
        ("holdfast_terminating", own, len(cluster.condemned), "Instances whose end is not confirmed yet."),
        *_action(cluster, own, now_s),
        *_holds(cluster, own),
        (
            "holdfast_launches_last_hour",
            own,
            launched_last_hour(cluster, now_s),
            "Instances asked for within the last hour.",
        ),
        ("holdfast_launches_per_hour_max", own, settings.launch_budget, "The most launches an hour."),
        ("holdfast_failed_scale_ups", own, cluster.failures, "Scale-ups in a row that brought nothing."),
        (
            "holdfast_lock_held",
            own,
            float(bool(cluster.lock.owner) and now_s < cluster.lock.until_s),
            "1 while an invocation holds the lock.",
        ),
        ("holdfast_paused", own, float(is_paused(cluster, now_s)), "1 while an operator has paused it."),
        ("holdfast_observe_mode", own, float(settings.observe), "1 if it only looks."),
        (
            "holdfast_troubles",
            own,
            len(snapshot.troubles) + bool(cluster.refused_uid),
            "Things that could not be looked at, or cannot be right: nothing scales down or is swept.",
        ),
        (
            "holdfast_problems",
            own,
            len(snapshot.problems) + len(refused_to_end(cluster)),
            "Things that an operator must mend: protected machines, nodes that do not name theirs.",
        ),
        *_by_choice(cluster, own, now_s),
        (
            "holdfast_swept_last_hour",
            own,
            len(this_hour(cluster, now_s)),
            "Machines and nodes without an owner that were taken up within the last hour.",
        ),
    ]
    if snapshot.load.cpu is not None:
        found.append(("holdfast_cpu", own, snapshot.load.cpu, "How busy the workers are, from 0 to 1."))
    if (usd := snapshot.usd_per_hour()) is not None:
        found.append(("holdfast_usd_per_hour", own, usd, "What the workers cost an hour."))
    return found


def _workers(cluster: Cluster, snapshot: Snapshot, own: Mapping[str, str]) -> Iterable[Gauge]:
    counted = Counter(
        (worker.instance.pool, worker.instance.zone, state_of(cluster, worker)) for worker in snapshot.workers
    )
    for (pool, zone, state), count in sorted(counted.items()):
        labels = {**own, "pool": pool, "zone": zone, "state": state}
        yield "holdfast_workers", labels, count, "Workers by pool, zone and state."


def _noticed(cluster: Cluster) -> int:
    return sum(row.kind is not NoticeKind.REPLACE for row in cluster.interrupted)


def _by_choice(cluster: Cluster, own: Mapping[str, str], now_s: float) -> Iterable[Gauge]:
    empty = sum(one.empty_since_s > 0 for one in cluster.underused)
    yield "holdfast_empty_nodes", own, empty, "Nodes without pods, where consolidation is on."
    disrupted = len(share.this_hour(cluster, now_s))
    means = "Workers emptied or replaced by choice within the last hour."
    yield "holdfast_disrupted_last_hour", own, disrupted, means


def _action(cluster: Cluster, own: Mapping[str, str], now_s: float) -> Iterable[Gauge]:
    for direction, action in (("up", cluster.scale_up), ("down", cluster.scale_down)):
        labels = {**own, "direction": direction}
        yield "holdfast_scaling_in_progress", labels, float(action is not None), "1 while an action is open."
        lasted_s = max(0.0, now_s - action.started_s) if action else 0.0
        yield "holdfast_action_seconds", labels, lasted_s, "How long the open action has lasted."
    if cluster.last_scale_s:
        since_s = max(0.0, now_s - cluster.last_scale_s)
        yield "holdfast_seconds_since_last_scale", own, since_s, "Since the last completed action."


def _holds(cluster: Cluster, own: Mapping[str, str]) -> Iterable[Gauge]:
    """By code: the words beside it hold figures that differ from tick to tick."""
    if cluster.hold_code:
        labels = {**own, "reason": cluster.hold_code}
        yield "holdfast_hold", labels, 1.0, "1 for the reason why nothing is begun."


def counted(events: Iterable[Logged]) -> Counter[str]:
    """How many events of each kind."""
    return Counter(logged.event.kind for logged in events)
