"""The Node that an agent registers: what it asked for, on the hardware it runs on."""

import json
import secrets
from collections.abc import Mapping
from typing import Any

from tools.parts.boot.agent_request import AgentRequest
from tools.parts.boot.cluster import OWNER, Node

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
ALLOWED_LABELS = {
    "kubernetes.io/hostname", "kubernetes.io/arch", "kubernetes.io/os",
    "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
    "beta.kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
}  # fmt: skip
ALLOWED_PREFIXES = ("kubelet.kubernetes.io/", "node.kubernetes.io/")


class BadNode(Exception):
    """The kubelet would refuse to start; the message says why."""


def node_name(request: AgentRequest, hostname: str) -> str:
    name = (request.node_name or hostname).lower()
    return f"{name}-{secrets.token_hex(4)}" if request.with_node_id else name


def build_node(request: AgentRequest, name: str, machine: Mapping[str, Any]) -> Node:
    """`machine` is what the EC2 stand-in says of the instance."""
    kubelet = dict(_pair(word, "=") for word in request.kubelet_args)
    arch = machine["architecture"]
    labels = {
        "beta.kubernetes.io/arch": arch,
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": arch,
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "k3s",
        **dict(_label(word) for word in [*request.labels, *_listed(kubelet.get("node-labels"))]),
    }
    taints = [_taint(word) for word in [*request.taints, *_listed(kubelet.get("register-with-taints"))]]
    address = request.node_ip or machine["private_ip"]
    annotations = {
        OWNER: machine["id"],
        "k3s.io/hostname": name,
        "k3s.io/internal-ip": address,
        "k3s.io/node-args": json.dumps(["agent", *_without_secrets(request.args)]),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {"providerID": kubelet.get("provider-id", f"k3s://{name}"), "taints": taints},
        "status": _status(request, name, address, machine, kubelet.get("max-pods", "110")),
    }


def _status(
    request: AgentRequest, name: str, address: str, machine: Mapping[str, Any], pods: str
) -> dict[str, Any]:
    resources = {
        "cpu": str(machine["vcpus"]),
        "memory": f"{machine['memory_mib']}Mi",
        "ephemeral-storage": "20961260Ki",
        "pods": pods,
    }
    return {
        "capacity": resources,
        "allocatable": resources,
        "addresses": [
            {"type": "InternalIP", "address": address},
            {"type": "Hostname", "address": name},
        ],
        "nodeInfo": {
            "architecture": machine["architecture"],
            "operatingSystem": "linux",
            "kubeletVersion": request.version,
            "kubeProxyVersion": request.version,
            "containerRuntimeVersion": "containerd://2.1.4-k3s1",
            "osImage": "Amazon Linux 2023",
            "kernelVersion": "6.1.0",
            "machineID": machine["id"],
            "systemUUID": machine["id"],
            "bootID": machine["id"],
        },
    }


def _pair(word: str, between: str) -> tuple[str, str]:
    key, _, value = word.lstrip("-").partition(between)
    return key, value


def _listed(words: str | None) -> list[str]:
    return [word for word in (words or "").split(",") if word]


def _label(word: str) -> tuple[str, str]:
    key, value = _pair(word, "=")
    domain = key.split("/")[0] if "/" in key else ""
    reserved = domain in ("kubernetes.io", "k8s.io") or domain.endswith((".kubernetes.io", ".k8s.io"))
    if reserved and key not in ALLOWED_LABELS and not key.startswith(ALLOWED_PREFIXES):
        raise BadNode(f"the kubelet may not set the label {key}: its domain is reserved")
    return key, value


def _taint(word: str) -> dict[str, str]:
    """`key=value:Effect` or `key:Effect`."""
    front, _, effect = word.rpartition(":")
    key, value = _pair(front, "=")
    if not key or effect not in EFFECTS:
        raise BadNode(f"not a taint: {word}; it reads key=value:Effect with one of {', '.join(EFFECTS)}")
    return {"key": key, "value": value, "effect": effect} if value else {"key": key, "effect": effect}


def _without_secrets(args: list[str]) -> list[str]:
    """As k3s does in its annotation: the token is starred out."""
    shown, hide_next = [], False
    for word in args:
        flag, equals, _ = word.partition("=")
        is_token = flag in ("--token", "-t", "--token-file")
        shown.append("********" if hide_next else f"{flag}=********" if is_token and equals else word)
        hide_next = is_token and not equals
    return shown
