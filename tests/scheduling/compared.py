"""The counted rules beside the same rules written the slow way, on one drawn cluster."""

from collections import defaultdict
from typing import Any

from holdfast.autoscaler.scheduling.rooms import room_of
from holdfast.cloud.kubernetes import Pod
from tests.scheduling.generated import NAMESPACES, draw
from tests.scheduling.naive import allows
from tests.scheduling.verdicts import nodes_of, pod_of


def disagreements(topology: Any, seed: int) -> list[str]:
    """Where one way lets a pod go and the other does not.  Each pod is placed before the next is asked for.

    `topology`: the shipped module, or a variant of it.
    """
    drawn, found = draw(seed), []
    nodes, where = nodes_of(drawn), defaultdict[str, list[Pod]](list)
    for body in drawn.running:
        where[body["spec"]["nodeName"]].append(pod_of(body))
    pods = [pod_of(body) for body in drawn.to_place]
    rooms = [room_of(node, where[node.metadata.name]) for node in nodes]
    counted = topology.Topology(((room, where[room.name]) for room in rooms), pods, NAMESPACES)
    before = _verdicts(counted, pods, rooms)
    with counted.trial():
        for pod in pods:
            free = [node.metadata.name for node in nodes if allows(pod, node, where, nodes, NAMESPACES)]
            (told,) = _verdicts(counted, [pod], rooms)
            found += [
                f"{pod.metadata.name} on {room.name}: {why or 'fits'}"
                for room, why in zip(rooms, told, strict=True)
                if (why == "") != (room.name in free)
            ]
            if free:
                where[free[0]].append(pod)
                counted.put(free[0], counted.class_of(pod), 1)
    if _verdicts(counted, pods, rooms) != before:
        found.append("taken back, it is not as it was")
    return found


def _verdicts(counted: Any, pods: list[Pod], rooms: list[Any]) -> list[list[str]]:
    asked = [counted.asked(pod) for pod in pods]
    return [[each.refusal(room.labels) if each is not None else "" for room in rooms] for each in asked]
