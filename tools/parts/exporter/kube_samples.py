"""What kube-state-metrics would say, under its names and labels."""

from collections.abc import Iterable, Iterator

from tools.parts.exporter.kubernetes_api import Object
from tools.parts.exporter.node_samples import internal_ip
from tools.parts.exporter.quantity import amount
from tools.parts.exporter.text import Sample

PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
STATUSES = ("true", "false", "unknown")
UNITS = {"cpu": "core", "memory": "byte", "ephemeral-storage": "byte", "pods": "integer"}


def kube_samples(nodes: Iterable[Object], pods: Iterable[Object]) -> Iterator[Sample]:
    for node in nodes:
        yield from _about_node(node)
    for pod in pods:
        yield from _about_pod(pod)


def _about_node(node: Object) -> Iterator[Sample]:
    spec, status = node.get("spec", {}), node.get("status", {})
    name = {"node": node["metadata"]["name"]}
    told = status.get("nodeInfo", {})
    info = {
        "kernel_version": told.get("kernelVersion", ""),
        "os_image": told.get("osImage", ""),
        "container_runtime_version": told.get("containerRuntimeVersion", ""),
        "kubelet_version": told.get("kubeletVersion", ""),
        "provider_id": spec.get("providerID", ""),
        "pod_cidr": spec.get("podCIDR", ""),
        "system_uuid": told.get("systemUUID", ""),
        "internal_ip": internal_ip(node),
    }
    yield Sample("kube_node_info", {**name, **info}, 1)
    yield Sample("kube_node_spec_unschedulable", name, int(spec.get("unschedulable", False)))
    for condition in status.get("conditions", []):
        for one in STATUSES:
            labels = {**name, "condition": condition["type"], "status": one}
            yield Sample("kube_node_status_condition", labels, int(condition["status"].lower() == one))
    for kind in ("capacity", "allocatable"):
        yield from _amounts(f"kube_node_status_{kind}", name, status.get(kind, {}))


def _about_pod(pod: Object) -> Iterator[Sample]:
    meta, spec, status = pod["metadata"], pod["spec"], pod.get("status", {})
    name = {"namespace": meta["namespace"], "pod": meta["name"], "uid": meta["uid"]}
    owner: Object = next((o for o in meta.get("ownerReferences", []) if o.get("controller")), {})
    info = {
        "host_ip": status.get("hostIP", ""),
        "pod_ip": status.get("podIP", ""),
        "node": spec.get("nodeName", ""),
        "created_by_kind": owner.get("kind", ""),
        "created_by_name": owner.get("name", ""),
        "priority_class": spec.get("priorityClassName", ""),
        "host_network": str(spec.get("hostNetwork", False)).lower(),
    }
    yield Sample("kube_pod_info", {**name, **info}, 1)
    for phase in PHASES:
        yield Sample("kube_pod_status_phase", {**name, "phase": phase}, int(status.get("phase") == phase))
    if _found_no_node(status):
        yield Sample("kube_pod_status_unschedulable", name, 1)
    for container in spec["containers"]:
        labels = {**name, "container": container["name"], "node": spec.get("nodeName", "")}
        requests = container.get("resources", {}).get("requests", {})
        yield from _amounts("kube_pod_container_resource_requests", labels, requests)


def _found_no_node(status: Object) -> bool:
    conditions = status.get("conditions", [])
    return any(c["type"] == "PodScheduled" and c.get("reason") == "Unschedulable" for c in conditions)


def _amounts(metric: str, labels: dict[str, str], amounts: Object) -> Iterator[Sample]:
    for resource, written in amounts.items():
        if resource in UNITS:
            kind = {"resource": resource.replace("-", "_"), "unit": UNITS[resource]}
            yield Sample(metric, {**labels, **kind}, amount(written))
