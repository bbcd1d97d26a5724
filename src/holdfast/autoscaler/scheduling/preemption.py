"""Pods that the scheduler will make room for by ending pods of lower priority: they ask for no node.

The scheduler's own word comes first.  A pod with a nominated node takes that node's room already, and one of
which the scheduler says that it found no victims asks for a node.  What is foreseen here counts only for a
short while, so that a scheduler that does not preempt leaves no pod without a node.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import add

from msgspec import structs

from holdfast.autoscaler.scheduling.fit import Room, host_ports, misfit, refusal, shortage
from holdfast.autoscaler.scheduling.topology import Topology
from holdfast.cloud.kubernetes import FINISHED, Pod
from holdfast.cloud.requests import requests_of

PREEMPTS_WITHIN_S = 60
"""A scheduler that preempts does so at once."""
FORESEEN_MAX = 50
"""Pods that are looked at one by one.  More of them ask for nodes."""
TRIED = "preemption:"
"""How the scheduler begins what it says of a preemption that it tried in vain."""


def no_room(pod: Pod, room: Room, topology: Topology) -> str:
    """Why this node would not take the pod as it is now; empty if it would."""
    asked = topology.asked(pod)
    why = refusal(pod, room, topology.rules_of(pod))
    return why or (asked.refusal(room) if asked is not None else "")


def no_room_by_preemption(pod: Pod, room: Room, there: Iterable[Pod], topology: Topology) -> str:
    """Why not even the end of all pods of lower priority makes room for this one; empty if it does."""
    if pod.spec.preemption_policy == "Never":
        return "it preempts no pod"
    victims = [each for each in there if _is_lower(each, pod)]
    if not victims:
        return "no pod of lower priority is there"
    asked, rules = topology.asked(pod), topology.rules_of(pod)
    staying = [each for each in there if each.status.phase not in FINISHED and not _is_lower(each, pod)]
    ports = frozenset(port for each in staying for port in host_ports(each))
    free = reduce(add, map(requests_of, victims), room.free)
    emptied = structs.replace(room, free=free, ports=ports)
    if why := misfit(pod, emptied, rules=rules) or shortage(requests_of(pod), free):
        return why
    if asked is None:
        return ""
    with topology.trial():
        for each in victims:
            topology.put(room.name, topology.class_of(each), -1)
        return asked.refusal(emptied)


def _is_lower(other: Pod, pod: Pod) -> bool:
    return other.spec.priority < pod.spec.priority and other.status.phase not in FINISHED


def foreseen(
    pods: Sequence[Pod],
    rooms: Mapping[str, Room],
    running: Callable[[], Mapping[str, Sequence[Pod]]],
    topology: Topology,
    at_s: float,
) -> dict[str, str]:
    """By uid: the nodes where these pods will preempt others, one on each; only where there is no room.

    `running`: the pods of each node, asked for only where one might preempt them.
    """
    on: Mapping[str, Sequence[Pod]] = {}
    may = [pod for pod in pods if _may_preempt(pod, at_s)]
    if may and (on := running()):
        lowest = min((each.spec.priority for there in on.values() for each in there), default=0)
        may = [pod for pod in may if pod.spec.priority > lowest]
    if not may or not on or len(may) > FORESEEN_MAX:
        return {}
    found: dict[str, str] = {}
    for pod in sorted(may, key=lambda pod: -pod.spec.priority):
        if any(not no_room(pod, room, topology) for room in rooms.values()):
            continue
        for name, room in rooms.items():
            if name not in found.values() and not no_room_by_preemption(
                pod, room, on.get(name, ()), topology
            ):
                found[pod.metadata.uid] = name
                break
    return found


def _may_preempt(pod: Pod, at_s: float) -> bool:
    """The scheduler looked at it just now, and did not say that it found no victims."""
    if pod.spec.preemption_policy == "Never" or TRIED in pod.scheduler_says:
        return False
    since = next((c.last_transition_time for c in pod.status.conditions if c.type == "PodScheduled"), None)
    try:
        return since is not None and at_s - datetime.fromisoformat(since).timestamp() < PREEMPTS_WITHIN_S
    except ValueError:
        return False
