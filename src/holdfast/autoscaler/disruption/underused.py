"""Nodes of which pods ask for little or nothing: noted in the record, since when by our own clock.

Only where consolidation is on.  A node counts anew each time that it was in use, or out of service.
"""

from dataclasses import replace

from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.fleet import reliable
from holdfast.autoscaler.record import Cluster, Underused
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.kernel import Event, Write
from holdfast.kernel.write import EVENTS_MAX


def note(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Write[Cluster] | None:
    """What changed since the record was written; None if nothing did, or if a listing is not whole."""
    if snapshot.doubts:
        return None
    noted = {one.instance_id: one for one in cluster.underused}
    seen = _seen(cluster, snapshot, settings)
    events: list[Event] = []
    for instance_id in sorted(noted.keys() | seen.keys()):
        if len(events) == EVENTS_MAX:
            break  # each is told: what is more is noted next
        before, empty = noted.get(instance_id), seen.get(instance_id)
        if empty is None:
            del noted[instance_id]
            events.append(Event(AutoscalerEvent.NODE_IN_USE, now_s, about=instance_id))
        elif before is None or bool(before.empty_since_s) != empty:
            since_s = before.since_s if before else int(now_s)
            noted[instance_id] = Underused(instance_id, since_s, int(now_s) if empty else 0)
            kind = AutoscalerEvent.NODE_EMPTY if empty else AutoscalerEvent.NODE_UNDERUSED
            events.append(Event(kind, now_s, about=instance_id))
    return Write(replace(cluster, underused=tuple(noted.values())), tuple(events)) if events else None


def _seen(cluster: Cluster, snapshot: Snapshot, settings: Settings) -> dict[str, bool]:
    """Those that are underused now, and whether they are empty."""
    if not settings.disruption.consolidation:
        return {}
    below, seen = settings.disruption.underused_below, dict[str, bool]()
    for worker in reliable(cluster, snapshot):
        i = worker.instance_id
        empty = worker.ours and snapshot.is_empty(i)
        if empty or (worker.ours and below and snapshot.used(i) < below):
            seen[i] = empty
    return seen
