"""Nodes whose kubelet is not heard any more: noted, replaced after a while, and ended.

Rule 1: by our own clock, and in the record: a node is not ready for so long as ticks have seen it so.
Rule 2: from then on it is treated as interrupted: it counts no more, and is replaced if the fleet needs it.
Rule 3: its machine is ended when the replacement is ready, and never while many are not ready at once.  It is
        kept if it comes back before that.
Rule 4: while many are not ready at once, no more of them are in work than one scale-up may add.
"""

from dataclasses import replace

from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.fleet import staying
from holdfast.autoscaler.record import DECLINED, READY, UNNEEDED, Cluster, Interrupted, NotReady
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.cloud import NoticeKind
from holdfast.kernel import Event, Write
from holdfast.kernel.write import EVENTS_MAX


def note(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Write[Cluster] | None:
    """Since when nodes are not ready; forgotten are those that are again, or that leave."""
    silent = {
        worker.instance_id: worker.node_name
        for worker in staying(cluster, snapshot)
        if settings.not_ready_s
        and worker.node_name
        and not worker.ready
        # One that has joined, and fell silent as it registered anew, is no surplus that the sweep would end.
        and (not worker.joining or cluster.has_joined(worker.instance))
    }
    noted = {one.instance_id for one in cluster.not_ready}
    new = sorted(silent.keys() - noted)[:EVENTS_MAX]
    over = sorted(noted - silent.keys())[: EVENTS_MAX - len(new)]
    if not new and not over:
        return None
    rows = tuple(one for one in cluster.not_ready if one.instance_id not in over)
    added = tuple(NotReady(i, int(now_s)) for i in new)
    events = [Event(AutoscalerEvent.NOT_READY, now_s, about=i, reason=silent[i]) for i in new]
    events += [Event(AutoscalerEvent.NOT_READY_OVER, now_s, about=i) for i in over]
    return Write(replace(cluster, not_ready=(*rows, *added)), tuple(events))


def fold(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Write[Cluster] | None:
    """Take those that are not ready for too long out of the count, so that they are replaced."""
    in_work = [
        affected
        for affected in cluster.interrupted
        if affected.kind is NoticeKind.NOT_READY
        and (snapshot.troubles or affected.replacement not in (READY, UNNEEDED))
    ]
    room = max(0, settings.max_batch_up - len(in_work))
    due = [one for one in cluster.not_ready if now_s - one.since_s >= settings.not_ready_s][:room]
    before = {affected.instance_id: affected.replacement for affected in cluster.interrupted}
    if not due:
        return None
    at_s = int(now_s)
    # A hint that has become certain keeps the replacement that it already has.
    answers = {i: "" if replacement == DECLINED else replacement for i, replacement in before.items()}
    rows = tuple(
        Interrupted(one.instance_id, NoticeKind.NOT_READY, at_s, at_s, answers.get(one.instance_id, ""))
        for one in due
    )
    ids = {one.instance_id for one in due}
    kept = tuple(one for one in cluster.interrupted if one.instance_id not in ids)
    events = tuple(
        Event(
            AutoscalerEvent.NOT_READY_TOO_LONG,
            now_s,
            about=one.instance_id,
            reason=f"for {now_s - one.since_s:.0f} s, {settings.not_ready_s} s allowed",
        )
        for one in due
    )
    left = tuple(one for one in cluster.not_ready if one.instance_id not in ids)
    return Write(replace(cluster, interrupted=(*kept, *rows), not_ready=left), events)
