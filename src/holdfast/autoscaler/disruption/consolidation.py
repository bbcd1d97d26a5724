"""Which node leaves though the fleet as a whole is not idle: one that stands empty or underused for long.

Rule 1: the rules of scaling down hold: budgets, zones, floors, cool-down, brake, troubles.
Rule 2: one at a time.
Rule 3: no node leaves of a pool that pods wait for.
Rule 4: pods are moved only within a window and the share an hour, and only if all of them fit elsewhere.
Rule 5: no node leaves if the others would be so busy without it that a new one would be asked for.
"""

from dataclasses import dataclass

from holdfast.autoscaler.disruption import share
from holdfast.autoscaler.disruption.windows import is_open
from holdfast.autoscaler.fleet import reliable, serving
from holdfast.autoscaler.interruption import unanswered
from holdfast.autoscaler.reasons import Reason
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot, Worker
from holdfast.cloud import NoticeKind
from holdfast.cloud.text import lasting

CONSIDERED_MAX = 20
"""So many underused nodes are considered at a time: each asks where all its pods would go."""


@dataclass(frozen=True, slots=True)
class Removable:
    """Nodes of which one may leave."""

    instance_ids: frozenset[str]
    code: Reason
    why: str


def removable(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Removable | str:
    """Text: why none is."""
    if not settings.disruption.consolidation:
        return "consolidation is off"
    rules = settings.disruption
    found = _empty(cluster, snapshot, settings, now_s)
    idle = [] if found else _underused(cluster, snapshot, settings, now_s)
    if not found and not idle:
        return f"no node is empty for {lasting(rules.empty_down_s)}, or underused for long"
    if bar := bars(cluster, snapshot, settings, now_s):
        return bar
    if found:
        why = f"empty for {lasting(rules.empty_down_s)}"
        return Removable(frozenset(worker.instance_id for worker in found), Reason.NODE_EMPTY, why)
    if bar := bars_to_moving(cluster, snapshot, settings, now_s):
        return bar
    for worker in idle:
        if not snapshot.must_stay(worker.instance_id):
            why = f"less than {rules.underused_below:.0%} of it is asked for, and its pods fit elsewhere"
            return Removable(frozenset({worker.instance_id}), Reason.NODE_UNDERUSED, why)
    return f"no node that is underused may leave: {snapshot.must_stay(idle[0].instance_id)}"


def bars_to_moving(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> str:
    """Why no pod may be moved by choice now."""
    if not disruption_allowed(settings, now_s):
        return "no window for disruption is open"
    if snapshot.pending:
        return "pods wait for room"
    if not share.left(cluster, snapshot, settings, now_s):
        return "as many as may be were disrupted within the hour"
    return ""


def _underused(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> list[Worker]:
    """The least used first."""
    long_ago_s = now_s - settings.disruption.underused_down_s
    since = {one.instance_id for one in cluster.underused if one.since_s <= long_ago_s}
    kept = {skip.instance_id for skip in cluster.skipped if now_s < skip.until_s}
    found = [w for w in reliable(cluster, snapshot) if w.instance_id in since - kept]
    below = [w for w in found if snapshot.used(w.instance_id) < settings.disruption.underused_below]
    return sorted(below, key=lambda w: (snapshot.used(w.instance_id), w.instance_id))[:CONSIDERED_MAX]


def bars(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> str:
    """Why no node at all may leave by choice now; empty if one may."""
    if snapshot.troubles:
        return f"no worker leaves while {snapshot.troubles[0]}"
    if unanswered(cluster, settings):
        return "no worker leaves while the cloud takes others back"
    if any(row.kind is NoticeKind.REPLACE for row in cluster.interrupted):
        return "another node is being replaced"
    if why := cooling_down(cluster, settings, now_s):
        return why
    there = len(serving(cluster, snapshot))
    if there <= settings.min_workers:
        return "the fleet has its minimum size"
    cpu = snapshot.load.cpu
    if cpu is None:
        return f"the load is not known: {snapshot.load.problem}"
    if cpu * there / (there - 1) > settings.cpu_up:
        return "the others would be busy without it"
    return ""


def cooling_down(cluster: Cluster, settings: Settings, now_s: float) -> str:
    left_s = cluster.last_scale_s + settings.cooldown_down_s - now_s
    if cluster.last_scale_s and left_s > 0:
        return f"cooling down after the last action, for {lasting(left_s)} more"
    return ""


def disruption_allowed(settings: Settings, now_s: float) -> bool:
    """Whether a window is open, or there is none at all."""
    return is_open(settings.disruption.windows, settings.disruption.time_zone, now_s)


def _empty(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> list[Worker]:
    since_s = {one.instance_id: one.empty_since_s for one in cluster.underused if one.empty_since_s}
    return [
        worker
        for worker in serving(cluster, snapshot)
        if worker.instance_id in since_s
        and now_s - since_s[worker.instance_id] >= settings.disruption.empty_down_s
        and snapshot.is_empty(worker.instance_id)
        and not snapshot.pods_wait_for(worker.instance.pool)
    ]
