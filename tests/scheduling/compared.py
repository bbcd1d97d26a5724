"""The counted rules beside the same rules written the slow way, on one drawn cluster."""

from collections import defaultdict
from typing import Any

from holdfast.autoscaler.scheduling.node_info import NodeInfo
from holdfast.autoscaler.scheduling.rooms import room_of
from holdfast.cloud.kubernetes import Pod
from tests.scheduling.generated import NAMESPACES, draw
from tests.scheduling.naive import allows
from tests.scheduling.naive_fit import takers
from tests.scheduling.naive_volumes import after_placing, volumes_allow
from tests.scheduling.verdicts import judge, nodes_of, pod_of


def disagreements(topology: Any, seed: int) -> list[str]:
    """Where one way lets a pod go and the other does not.  Each pod is placed before the next is asked for.

    `topology`: the shipped module, or a variant of it.
    """
    drawn, found = draw(seed), []
    nodes, where = nodes_of(drawn), defaultdict[str, list[Pod]](list)
    for body in drawn.running:
        where[body["spec"]["nodeName"]].append(pod_of(body))
    pods = [pod_of(body) for body in drawn.to_place]
    rooms = [room_of(node, NodeInfo(where[node.metadata.name])) for node in nodes]
    lists = drawn.volumes.lists()
    counted = topology.Topology(
        ((room, NodeInfo(where[room.name])) for room in rooms), pods, NAMESPACES, lists
    )
    before = _verdicts(counted, pods, rooms)
    with counted.trial():
        for pod in pods:
            free = [
                node
                for node in nodes
                if allows(pod, node, where, nodes, NAMESPACES) and volumes_allow(pod, node, where, lists)
            ]
            names = [node.metadata.name for node in free]
            (told,) = _verdicts(counted, [pod], rooms)
            found += [
                f"{pod.metadata.name} on {room.name}: {why or 'fits'}"
                for room, why in zip(rooms, told, strict=True)
                if (why == "") != (room.name in names)
            ]
            if free:
                where[names[0]].append(pod)
                counted.put(names[0], counted.class_of(pod), 1)
                lists = after_placing(pod, free[0], lists)
    if _verdicts(counted, pods, rooms) != before:
        found.append("taken back, it is not as it was")
    return found


def _verdicts(counted: Any, pods: list[Pod], rooms: list[Any]) -> list[list[str]]:
    return [[_refusal(counted, pod, room) for room in rooms] for pod in pods]


def _refusal(counted: Any, pod: Pod, room: Any) -> str:
    asked, needs = counted.asked(pod), counted.rules_of(pod).volumes
    tied = str(needs.misfit(room.name, room.labels)) if needs is not None else ""
    return tied or (str(asked.refusal(room)) if asked is not None else "")


def misjudged(rules: Any, seed: int) -> list[str]:
    """Where one way places a pod or preempts for it, and the other does not.  `rules`: see `judge`."""
    drawn, found = draw(seed), []
    nodes, where, lists = nodes_of(drawn), defaultdict[str, list[Pod]](list), drawn.volumes.lists()
    for body in drawn.running:
        where[body["spec"]["nodeName"]].append(pod_of(body))
    for body in drawn.to_place:
        pod = pod_of(body)
        ours, slow = judge(pod, nodes, where, lists, rules), takers(pod, nodes, where, NAMESPACES, lists)
        if (ours.free, ours.preempts) != slow:
            found.append(f"{pod.metadata.name}: {ours.free}, {ours.preempts}; the slow way: {slow}")
    return found
