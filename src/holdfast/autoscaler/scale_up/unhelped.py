"""Pods that no new node would help, though one might: seen so for a while, they ask for none.

A pod may ask for more than is considered here: a claim that cannot be bound, one replica too many that must
stand apart.  It gets one new node.  If that stands empty and the scheduler still does not use it, another
would not help either.  Without this memory the empty node would leave as idle, and be asked for again.
"""

from dataclasses import replace

from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.record import Cluster, Unhelped
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.kernel import Event, Write

PROVEN_S = 180
"""The scheduler had so long to use the empty node."""
LEFT_ALONE_S = 14_400
"""After so long they may ask for a node again: something may have changed."""
ROWS_MAX = 40


def left_alone(cluster: Cluster, now_s: float) -> frozenset[str]:
    """The owners whose pods ask for no new node now."""
    return frozenset(one.pods for one in cluster.unhelped if now_s - one.since_s >= PROVEN_S)


def note(cluster: Cluster, snapshot: Snapshot, now_s: float) -> Write[Cluster] | None:
    """Remember since when; forget those that wait no longer, or for which no node stands empty too soon."""
    seen = snapshot.unhelped
    proven = left_alone(cluster, now_s)
    kept = tuple(
        one
        for one in cluster.unhelped
        if now_s - one.since_s < LEFT_ALONE_S
        and (one.pods in seen or (one.pods in proven and one.pods in snapshot.waiting))
    )
    names = {one.pods for one in kept}
    new = sorted(seen.keys() - names)[: ROWS_MAX - len(kept)]
    over = [one.pods for one in cluster.unhelped if one.pods not in names and one.pods not in new]
    added = tuple(Unhelped(pods, int(now_s)) for pods in new)
    if not new and not over:
        return None
    events = [Event(AutoscalerEvent.UNHELPED, now_s, about=pods, reason=seen[pods][:500]) for pods in new]
    events += [Event(AutoscalerEvent.UNHELPED_OVER, now_s, about=pods) for pods in over]
    return Write(replace(cluster, unhelped=(*kept, *added)), tuple(events))
