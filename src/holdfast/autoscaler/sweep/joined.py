"""Which machines took pods once, which of them have lost their node, and how much is swept an hour.

Rule 1: a machine that joined is remembered for as long as it is there.  It is not a surplus that failed
        to join, whatever a listing of nodes says.
Rule 2: that its node is gone counts only when it was seen twice, some time apart, and never for many at
        once: that is a trouble, and with a trouble nothing is noted here.
Rule 3: what is older than this memory may have joined.
Rule 4: a record that was restored recalls from its log what has joined since, if the log has no hole.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.record import Cluster, Missing, Swept
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot, Worker
from holdfast.cloud import LEAVING
from holdfast.kernel import Event, Logged, Write
from holdfast.kernel.write import EVENTS_MAX

HOUR_S: Final = 3_600
JOINED: Final = (AutoscalerEvent.JOINED, AutoscalerEvent.SEEN_JOINED)
GONE: Final = (AutoscalerEvent.TERMINATED, AutoscalerEvent.RECLAIMED)
BEGUN_ANEW: Final = (AutoscalerEvent.CLUSTER_KNOWN, AutoscalerEvent.CLUSTER_ACCEPTED)
"""The memory began anew, and no event names what was in it."""


def seen(cluster: Cluster, snapshot: Snapshot, now_s: float) -> Write[Cluster] | None:
    """Remember machines of ours whose node takes pods and that no scale-up of this record has told of."""
    if not cluster.joined_since_s:
        return None
    known = set(cluster.joined)
    new = [i for i in open_workers(snapshot) if i not in known and not cluster.is_gone(i)][:EVENTS_MAX]
    if not new:
        return None
    events = tuple(Event(AutoscalerEvent.SEEN_JOINED, now_s, about=i) for i in new)
    return Write(replace(cluster, joined=(*cluster.joined, *new)), events)


def recalled(cluster: Cluster, log: Sequence[Logged], stored: int, last: int) -> tuple[str, ...] | None:
    """What has joined, by the record of version `stored` and by its log from there to `last`.

    None if the log does not tell all of it: events that have expired are not there any more.
    """
    whole = {one.version for one in log} >= set(range(stored + 1, last + 1))
    if not whole or not cluster.joined_since_s or any(one.event.kind in BEGUN_ANEW for one in log):
        return None
    known = dict.fromkeys(cluster.joined)
    for one in log:
        if one.event.kind in JOINED:
            known[one.event.about] = None
        elif one.event.kind in GONE:
            known.pop(one.event.about, None)
    return tuple(known)


def open_workers(snapshot: Snapshot) -> list[str]:
    """Machines of ours with a node that takes pods, or took them until it fell silent."""
    return [
        worker.instance_id
        for worker in snapshot.workers
        if worker.ours and worker.alive and worker.node_name and not worker.joining
    ]


def without_the_gone(cluster: Cluster, snapshot: Snapshot) -> tuple[str, ...]:
    """Those that are still there, as far as can be told: a machine is forgotten with its node.

    One that is not listed, and whose node is not either, is forgotten; but not while it is young, because a
    listing lags behind, nor while a listing cannot be right.
    """
    up, gone = cluster.scale_up, {stone.instance_id for stone in cluster.gone}
    there = {w.instance_id for w in snapshot.workers if w.instance.state not in LEAVING}
    there |= {ghost.instance_id for ghost in snapshot.ghosts if ghost.state is None}
    young = {one.instance_id for one in cluster.recent} | set(up.instance_ids if up else ())
    kept = set(cluster.joined) if snapshot.troubles else there | young
    return tuple(i for i in cluster.joined if i in kept and i not in gone)


def nodeless(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Write[Cluster] | None:
    """Remember since when a machine that had joined has no node; forget those that have one again."""
    lost = {w.instance_id for w in snapshot.workers if _has_no_node(cluster, w)}
    noted = {row.instance_id for row in cluster.nodeless}
    new = [] if snapshot.troubles else sorted(lost - noted)[: settings.sweep_batch]
    back = sorted(noted - lost)[: EVENTS_MAX - len(new)]
    if not new and not back:
        return None
    events = [
        Event(AutoscalerEvent.NODE_MISSING, now_s, about=i, reason=without_its_node(cluster, i)) for i in new
    ]
    events += [Event(AutoscalerEvent.NODE_BACK, now_s, about=i) for i in back]
    rows = tuple(row for row in cluster.nodeless if row.instance_id not in back)
    added = tuple(Missing(i, int(now_s)) for i in new)
    return Write(replace(cluster, nodeless=(*rows, *added)), tuple(events))


def without_its_node(cluster: Cluster, instance_id: str) -> str:
    """In words.  Of what is older than this memory it is not known whether it ever had one."""
    if instance_id in cluster.joined:
        return "it had joined, and has no node any more"
    return "it may have joined, and has no node"


def _has_no_node(cluster: Cluster, worker: Worker) -> bool:
    i, up = worker.instance_id, cluster.scale_up
    if not (worker.alive and worker.ours) or worker.node_name or worker.namesake or worker.has_pods:
        return False
    if not counts_as_joined(cluster, worker):
        return False
    named = cluster.is_condemned(i) or cluster.is_gone(i) or cluster.interruption_of(i) is not None
    return not named and not (up is not None and i in up.joining)


def counts_as_joined(cluster: Cluster, worker: Worker) -> bool:
    """Whether it joined once, or may have.  A record that remembers nothing yet cannot say so of any."""
    return bool(cluster.joined_since_s) and cluster.may_have_joined(worker.instance)


def lost_its_node(cluster: Cluster, instance_id: str, settings: Settings, now_s: float) -> bool:
    """Whether its node was missing some time ago, and still is."""
    since_s = next((row.since_s for row in cluster.nodeless if row.instance_id == instance_id), None)
    return since_s is not None and now_s - since_s >= settings.absent_s


def budget_left(cluster: Cluster, settings: Settings, now_s: float) -> int:
    """How many more machines and nodes may be taken up within this hour."""
    return max(0, settings.sweep_per_hour - len(this_hour(cluster, now_s)))


def charged(cluster: Cluster, instance_ids: Sequence[str], now_s: float) -> Cluster:
    """The record in which these are counted."""
    new = tuple(Swept(i, int(now_s)) for i in instance_ids)
    kept = tuple(one for one in this_hour(cluster, now_s) if one.instance_id not in set(instance_ids))
    return replace(cluster, swept=(*kept, *new))


def this_hour(cluster: Cluster, now_s: float) -> tuple[Swept, ...]:
    return tuple(one for one in cluster.swept if now_s - one.at_s < HOUR_S)
