"""A Node object, as a kubelet would register it."""

from collections.abc import Mapping, Sequence
from typing import Any


def node_object(
    name: str,
    *,
    labels: Mapping[str, str],
    taints: Sequence[Mapping[str, str]],
    provider_id: str | None,
    cpu: str,
    memory: str,
    pods: int,
) -> dict[str, Any]:
    room = {"cpu": cpu, "memory": memory, "pods": str(pods), "ephemeral-storage": "20Gi"}
    usual = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    spec: dict[str, Any] = {"taints": [dict(taint) for taint in taints]}
    if provider_id is not None:
        spec["providerID"] = provider_id
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**usual, **labels}},
        "spec": spec,
        "status": {"capacity": room, "allocatable": room},
    }


def is_ready(node: Mapping[str, Any]) -> bool:
    """Whether the Ready condition is True; a node that is not there is not ready."""
    return ready_status(node) == "True"


def ready_status(node: Mapping[str, Any]) -> str | None:
    """True, False, Unknown, or None while no kubelet has reported yet."""
    conditions = node.get("status", {}).get("conditions", []) if node.get("kind") == "Node" else []
    return next((condition["status"] for condition in conditions if condition["type"] == "Ready"), None)
