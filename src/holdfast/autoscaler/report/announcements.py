"""What a commit means for the pods and nodes that it concerns, for their Events.

The words are those that users of other autoscalers know: `TriggeredScaleUp`, `NotTriggerScaleUp` and so on.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from holdfast.autoscaler.events import AutoscalerEvent as Kind
from holdfast.autoscaler.reasons import Reason
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.cloud import NoticeKind
from holdfast.cloud.announcements import Announcement
from holdfast.kernel import Event

ANNOUNCED_MAX: Final = 20
"""By one commit: a storm is told of its first few, and `history` has the others."""

OF_NODES: Final[Mapping[str, tuple[str, str, bool]]] = {
    Kind.JOINED: ("Joined", "it takes pods from now on", False),
    Kind.INTERRUPTED: ("SpotInterruption", "EC2 takes the machine back: it is cordoned and drained", True),
    Kind.REPLACING: ("Replacing", "a new worker joins first, then this one is drained", False),
    Kind.NOTICE_EXPIRED: ("NoticeExpired", "EC2 has not taken the machine back after all", False),
    Kind.LOST: ("MachineLost", "its machine is gone", True),
    Kind.DRAINED: ("Drained", "no pod is left that would have to move", False),
    Kind.DRAIN_SKIPPED: ("ScaleDownAborted", "it stays in service", False),
    Kind.TERMINATING: ("ScaleDown", "its machine is being terminated", False),
}
"""By the kind of what was written: reason, message, and whether it is a warning."""
KEEPS_PODS_WAITING: Final = (
    Reason.AT_MAXIMUM,
    Reason.BACKING_OFF,
    Reason.NOWHERE_TO_LAUNCH,
    Reason.PAUSED,
    Reason.OBSERVING,
)
"""Reasons that do not pass by themselves within minutes."""
HINTED: Final = ("RebalanceRecommendation", "EC2 may take the machine back: a replacement comes first", True)


def announced(events: Sequence[Event], snapshot: Snapshot) -> tuple[Announcement, ...]:
    """At most `ANNOUNCED_MAX`, in the order of the events."""
    found = [each for event in events for each in _of(event, snapshot)]
    return tuple(found[:ANNOUNCED_MAX])


def _of(event: Event, snapshot: Snapshot) -> Iterator[Announcement]:
    if event.kind in (Kind.BEGIN_SCALE_UP, Kind.EXTEND_SCALE_UP):
        yield from _of_pods(snapshot, scale_up=event.reason)
    elif event.kind == Kind.DECISION and event.about == "hold":
        yield from _of_pods(snapshot, held_by=event.reason if event.code in KEEPS_PODS_WAITING else "")
    elif event.kind == Kind.BEGIN_SCALE_DOWN:
        for instance_id in event.reason.split():
            yield from _of_node(instance_id, snapshot, "ScaleDown", "it is cordoned and drained", False, "")
    elif event.kind in OF_NODES:
        hinted = event.kind == Kind.INTERRUPTED and event.reason == NoticeKind.REBALANCE
        reason, message, warning = HINTED if hinted else OF_NODES[event.kind]
        told = "" if event.kind in (Kind.INTERRUPTED, Kind.JOINED) else event.reason
        yield from _of_node(event.about, snapshot, reason, message, warning, told)


def _of_node(
    instance_id: str, snapshot: Snapshot, reason: str, message: str, warning: bool, told: str
) -> Iterator[Announcement]:
    named = {worker.instance_id: (worker.node_name, worker.node_uid) for worker in snapshot.workers}
    named |= {ghost.instance_id: (ghost.name, ghost.uid) for ghost in snapshot.ghosts}
    name, uid = named.get(instance_id, ("", ""))
    if name:
        said = f"{message}: {told}" if told else message
        yield Announcement("Node", name, uid, reason, said, warning=warning)


def _of_pods(snapshot: Snapshot, scale_up: str = "", held_by: str = "") -> Iterator[Announcement]:
    """With a scale-up, the pods that it is for; without one, those that no new worker would help, and those
    that one would, with what keeps it from coming."""
    for pod in snapshot.waiting_pods():
        if scale_up and pod.helped:
            yield Announcement("Pod", pod.name, pod.uid, "TriggeredScaleUp", scale_up, pod.namespace)
        elif held_by and pod.helped:
            yield Announcement("Pod", pod.name, pod.uid, "NotTriggerScaleUp", held_by, pod.namespace)
        elif not scale_up and not pod.helped:
            why = f"no new worker would take it: {pod.why}" if pod.why else "no new worker would take it"
            yield Announcement("Pod", pod.name, pod.uid, "NotTriggerScaleUp", why, pod.namespace)
