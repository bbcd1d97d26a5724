"""What the shipped rules say about a drawn cluster."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from holdfast.autoscaler.scheduling.fit import refusal
from holdfast.autoscaler.scheduling.rooms import room_of
from holdfast.autoscaler.scheduling.topology import Topology
from holdfast.cloud.kubernetes import KubeNode, Pod
from holdfast.cloud.volumes import VolumeLists
from tests.scheduling.generated import NAMESPACES, Drawn

UNSCHEDULABLE_TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def nodes_of(drawn: Drawn) -> list[KubeNode]:
    """As the API sends them once the controllers have seen them: a cordon is a taint, too."""
    return [
        msgspec.convert(
            {
                "metadata": {"name": each["name"], "labels": each["labels"]},
                "spec": {
                    "unschedulable": each["unschedulable"],
                    "taints": [*each["taints"], *([UNSCHEDULABLE_TAINT] if each["unschedulable"] else [])],
                },
                "status": {
                    "allocatable": {"cpu": "2", "memory": "4Gi", "pods": "110"},
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            },
            KubeNode,
        )
        for each in drawn.nodes
    ]


def pod_of(body: Mapping[str, Any]) -> Pod:
    return msgspec.convert(body, Pod)


def takers(
    pod: Pod,
    nodes: Sequence[KubeNode],
    where: Mapping[str, Sequence[Pod]],
    volumes: VolumeLists | None = None,
) -> dict[str, str]:
    """By node: why it would not take the pod; empty if it would."""
    rooms = [room_of(node, where.get(node.metadata.name, ())) for node in nodes]
    topology = Topology(((room, where.get(room.name, ())) for room in rooms), [pod], NAMESPACES, volumes)
    asked = topology.asked(pod)
    return {
        room.name: refusal(pod, room, topology.rules_of(pod))
        or (asked.refusal(room) if asked is not None else "")
        for room in rooms
    }
