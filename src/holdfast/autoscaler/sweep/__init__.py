"""The sweep: surplus machines, nodes without a machine, cordons without an action.

Rule 1: only machines that carry an action id of this cluster may be removed.  Others are
        counted, never touched; an empty record adopts what it finds.
Rule 2: whatever is removed is condemned first, by a write that fails if the record has changed
        since it was read.  So an intent that was committed meanwhile, and the machine that came of
        it, cannot be mistaken for an orphan.
Rule 3: absence is no proof.  A node is deleted when its machine is listed as terminated, or has
        been missing twice, five minutes apart; and never for its absence while the node is Ready.
Rule 4: a few at a time and a few an hour, and nothing at all while something could not be looked at, or
        cannot be right; but for the node of a machine that EC2 itself calls terminated.
Rule 5: a machine that has joined once is no surplus: see `joined`.
"""

from dataclasses import replace

from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.fleet import is_leaving, size
from holdfast.autoscaler.ports import Admit, CordonNode, DeleteNode, Effect, Terminate
from holdfast.autoscaler.record import (
    DECLINED,
    Cluster,
    Condemned,
    Cordon,
    LaunchStatus,
    Missing,
    Recent,
    Tombstone,
)
from holdfast.autoscaler.scale_up.action import ADMISSION_S
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot, Worker
from holdfast.autoscaler.sweep import joined
from holdfast.cloud import State
from holdfast.kernel import Event, Write
from holdfast.kernel.write import EVENTS_MAX


def claim(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Write[Cluster] | None:
    """Adopt or condemn machines of ours that joined nothing and that the record does not name."""
    if snapshot.troubles:
        return None
    for worker in _unclaimed(cluster, snapshot, settings, now_s):
        if worker.alive and worker.ready and _is_wanted(cluster, snapshot, settings):
            i = worker.instance
            named = Recent(i.instance_id, i.pool, i.zone, int(now_s))
            adopted = Event(
                AutoscalerEvent.ADOPTED, now_s, about=i.instance_id, reason=f"launched by {i.action_id}"
            )
            return Write(replace(cluster, recent=(*cluster.recent, named)), (adopted,))
        if len(cluster.condemned) >= settings.sweep_batch or not joined.budget_left(cluster, settings, now_s):
            continue  # a few at a time: whatever made so many look forgotten may be our mistake
        why = _why(cluster, worker)
        condemned = Condemned(worker.instance_id, worker.instance.action_id, why, int(now_s))
        event = Event(AutoscalerEvent.TERMINATING, now_s, about=worker.instance_id, reason=why)
        claimed = joined.charged(cluster, (worker.instance_id,), now_s)
        hints = tuple(one for one in cluster.interrupted if one.instance_id != worker.instance_id)
        swept = replace(claimed, condemned=(*cluster.condemned, condemned), interrupted=hints)
        return Write(swept, (event,))
    return None


def _why(cluster: Cluster, worker: Worker) -> str:
    if worker.instance.state is State.STOPPED:
        return "stopped"
    lost = joined.counts_as_joined(cluster, worker) and not worker.node_name
    return "its node is gone" if lost else "a surplus that no record names"


def _unclaimed(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> list[Worker]:
    up = cluster.scale_up
    named = {recent.instance_id for recent in cluster.recent} | set(up.instance_ids if up else ())
    named |= {one.instance_id for one in cluster.condemned} | {stone.instance_id for stone in cluster.gone}
    # Hints come again and again.  One that is not followed is no use that a machine is put to.
    named |= {row.instance_id for row in cluster.interrupted if row.replacement != DECLINED}
    expected = {row.token(up.action_id) for row in up.intended} if up else set()
    return [
        worker
        for worker in snapshot.workers
        if worker.ours
        and worker.instance_id not in named
        and worker.instance.token not in expected
        and _is_of_no_use(cluster, worker, settings, now_s)
        and now_s - worker.instance.launched_s > _patience_s(cluster, worker, settings)
    ]


def _is_of_no_use(cluster: Cluster, worker: Worker, settings: Settings, now_s: float) -> bool:
    """It never took a pod: no node, or one that still has the joining taint; or it is stopped.

    One that joined once, or may have, is of no use only when its node has been gone for a while.
    """
    if worker.instance.state is State.STOPPED:
        return True
    if not worker.alive or worker.namesake or worker.has_pods:
        return False
    if worker.node_name:
        return worker.joining and not cluster.has_joined(worker.instance)
    if joined.counts_as_joined(cluster, worker):
        return joined.lost_its_node(cluster, worker.instance_id, settings, now_s)
    return True


def _patience_s(cluster: Cluster, worker: Worker, settings: Settings) -> float:
    """What a closed request of the open action brought is a surplus at once; others get their time."""
    up = cluster.scale_up
    if up is not None and up.action_id == worker.instance.action_id:
        closed = {row.token(up.action_id) for row in up.launches if row.status is not LaunchStatus.INTENDED}
        if worker.instance.token in closed:
            return 0.0
    return settings.sweep_after_s


def _is_wanted(cluster: Cluster, snapshot: Snapshot, settings: Settings) -> bool:
    there = size(cluster, snapshot)
    return there <= settings.min_workers or (snapshot.pending > 0 and there <= settings.max_workers)


def missing(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Write[Cluster] | None:
    """Remember since when a machine is not listed; forget those that are again, or whose node is gone."""
    unseen = {ghost.instance_id for ghost in snapshot.ghosts if ghost.state is None}
    noted = {row.instance_id for row in cluster.missing}
    room = min(settings.sweep_batch, joined.budget_left(cluster, settings, now_s))
    new = [] if snapshot.troubles else sorted(unseen - noted)[:room]
    back = sorted(noted - unseen)[: EVENTS_MAX - len(new)]  # each is told: what is more is forgotten next
    if not back and not new:
        return None
    rows = tuple(row for row in cluster.missing if row.instance_id not in back)
    events = [
        Event(AutoscalerEvent.MISSING, now_s, about=i, reason="its node is there, the machine is not listed")
        for i in new
    ]
    events += [Event(AutoscalerEvent.NO_LONGER_MISSING, now_s, about=i) for i in back]
    added = tuple(Missing(i, int(now_s)) for i in new)
    return Write(replace(joined.charged(cluster, new, now_s), missing=(*rows, *added)), tuple(events))


def lost(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Write[Cluster] | None:
    """A condemned machine that is listed as ended, or no longer at all, needs no more killing."""
    listed = {worker.instance_id: worker for worker in snapshot.workers}
    down, ended, events = cluster.scale_down, list[Condemned](), list[Event]()
    for one in cluster.condemned:
        worker = listed.get(one.instance_id)
        dead = worker is not None and worker.instance.state is State.TERMINATED
        absent = worker is None and one.instance_id not in snapshot.reporting
        # The cloud knew it when it last refused to end it: not before it was asked again is it gone.
        vanished = absent and now_s - max(one.at_s, one.retry_s) > settings.absent_s
        if (dead or vanished) and len(ended) < EVENTS_MAX:
            ended.append(one)
            events.append(Event(AutoscalerEvent.TERMINATED, now_s, about=one.instance_id, reason=one.reason))
            down = down.without(one.instance_id) if down is not None else None
    if not ended:
        return None
    stones = tuple(Tombstone(one.instance_id, int(now_s)) for one in ended)
    gone = replace(
        cluster,
        condemned=tuple(one for one in cluster.condemned if one not in ended),
        scale_down=down,
        gone=(*cluster.gone, *stones),
    )
    return Write(gone, tuple(events))


def effects(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> tuple[Effect, ...]:
    """Kill the condemned, open adopted nodes, delete nodes whose machine is gone."""
    return (
        *_kills(cluster, snapshot, now_s),
        *_admissions(cluster, snapshot, settings, now_s),
        *_burials(cluster, snapshot, settings, now_s),
    )


def _kills(cluster: Cluster, snapshot: Snapshot, now_s: float) -> list[Effect]:
    """A node that is still open is closed first: an admission that comes late must not fill it again.

    One that the cloud refuses to end is asked for again when its pause is over.
    """
    workers = {worker.instance_id: worker for worker in snapshot.workers}
    due: list[Effect] = []
    for one in cluster.condemned:
        worker = workers.get(one.instance_id)
        if worker is not None and worker.alive and worker.node_name and not worker.cordoned:
            due.append(CordonNode(one.instance_id, one.action_id))
        elif now_s >= one.retry_s:
            due.append(Terminate(one.instance_id, keep_console=one.never_joined))
    return due


def _admissions(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> list[Effect]:
    # Not in the last moments of its being remembered: see `ADMISSION_S`.
    named = {
        recent.instance_id
        for recent in cluster.recent
        if now_s - recent.at_s < settings.remember_s - ADMISSION_S
    }
    named.update(cluster.joined)  # it took pods already, and has registered anew
    return [Admit(i) for i in sorted(snapshot.unopened & named) if not is_leaving(cluster, i)]


def _burials(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> list[Effect]:
    """Nodes without a machine.  What EC2 itself calls terminated is gone whatever else is wrong, and another
    machine may bear its name before long; a mere absence proves nothing while something is."""
    since_s = {row.instance_id: row.since_s for row in cluster.missing}
    gone: list[Effect] = []
    for ghost in snapshot.ghosts:
        if ghost.ready:
            continue  # its kubelet reports: some machine is there, whatever the listing says
        terminated = ghost.state is State.TERMINATED
        absent = ghost.state is None and ghost.instance_id in since_s and not snapshot.troubles
        if terminated or (absent and now_s - since_s[ghost.instance_id] >= settings.absent_s):
            gone.append(DeleteNode(ghost.instance_id, ghost.name, ghost.uid))
    return gone[: max(settings.sweep_batch, 1) * 10]


def strays(cluster: Cluster, snapshot: Snapshot) -> frozenset[Cordon]:
    """Cordons whose action has ended; also on a Ready node whose machine is not listed: it may take pods."""
    alive = {affected.action_id for affected in cluster.interrupted}
    alive |= {one.action_id for one in cluster.condemned}
    if cluster.scale_down is not None:
        alive.add(cluster.scale_down.action_id)
    if cluster.scale_up is not None:
        alive.add(cluster.scale_up.action_id)
    owned = {worker.instance_id: worker.cordons for worker in snapshot.workers if worker.alive}
    owned |= {ghost.instance_id: ghost.cordons for ghost in snapshot.reporting.values()}
    return frozenset(Cordon(i, owner) for i, owners in owned.items() for owner in owners - alive)
