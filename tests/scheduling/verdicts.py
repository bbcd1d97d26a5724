"""What the shipped rules say about a drawn cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from holdfast.autoscaler.scheduling import preemption
from holdfast.autoscaler.scheduling.node_info import NodeInfo
from holdfast.autoscaler.scheduling.rooms import room_of
from holdfast.autoscaler.scheduling.topology import Topology
from holdfast.cloud.kubernetes import KubeNode, Pod
from holdfast.cloud.volumes import VolumeLists
from tests.scheduling.generated import NAMESPACES, PREEMPTS, PRIORITIES, Drawn

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
                    "allocatable": {"cpu": "2", "memory": "4Gi", "pods": "110", **each["devices"]},
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            },
            KubeNode,
        )
        for each in drawn.nodes
    ]


def pod_of(body: Mapping[str, Any]) -> Pod:
    """As the API server makes it: the class of its priority filled in."""
    value, policy = PRIORITIES.get(body["spec"].get("priorityClassName", ""), (0, PREEMPTS))
    return msgspec.convert(
        {**body, "spec": {**body["spec"], "priority": value, "preemptionPolicy": policy}}, Pod
    )


@dataclass(frozen=True)
class Verdict:
    why: dict[str, str]
    """By node: why it would not take the pod; empty if it would."""
    in_vain: dict[str, str]
    """By node: why not even the end of lesser pods makes room; asked only where none takes it as it is."""

    @property
    def free(self) -> list[str]:
        return [node for node, why in self.why.items() if not why]

    @property
    def preempts(self) -> list[str]:
        return [node for node, why in self.in_vain.items() if not why]


def judge(
    pod: Pod,
    nodes: Sequence[KubeNode],
    where: Mapping[str, Sequence[Pod]],
    volumes: VolumeLists | None = None,
    rules: Any = preemption,
) -> Verdict:
    """`rules`: the shipped module, or a variant of it."""
    infos = {name: NodeInfo(pods) for name, pods in where.items()}
    rooms = [room_of(node, infos.get(node.metadata.name, NodeInfo())) for node in nodes]
    topology = Topology(
        ((room, infos.get(room.name, NodeInfo())) for room in rooms), [pod], NAMESPACES, volumes
    )
    why = {room.name: str(rules.no_room(pod, room, topology)) for room in rooms}
    in_vain = {
        room.name: str(rules.no_room_by_preemption(pod, room, where.get(room.name, ()), topology))
        for room in rooms
        if all(why.values())
    }
    return Verdict(why, in_vain)
