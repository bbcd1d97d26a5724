"""Claims and volumes of a drawn cluster on the real API server, and what a driver would do."""

from typing import Any

from tests.scheduling.drawn_volumes import DRIVER, HOSTNAME, ZONE, DrawnVolumes, is_on
from tools.parts.cluster import Cluster

VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/persistentvolumeclaims"
CSI_NODES = "/apis/storage.k8s.io/v1/csinodes"
SELECTED = "volume.kubernetes.io/selected-node"
BOUND = "pv.kubernetes.io/bind-completed"


def furnish_volumes(cluster: Cluster, drawn: DrawnVolumes) -> None:
    """Made, and bound where a claim names its volume."""
    for body in drawn.csi_nodes:
        cluster.request("POST", CSI_NODES, body).ok()
    for body in drawn.volumes:
        cluster.request("POST", VOLUMES, body).ok()
    for body in drawn.claims:
        cluster.request("POST", _claims(body["metadata"]["namespace"]), body).ok()
    cluster.wait_for(CLAIMS, _all_bound, what="claims that name a volume are bound")
    cluster.wait_for(VOLUMES, _none_is_pending, what="volumes are bound or free")


def made_on_demand(cluster: Cluster, space: str, pod: Any) -> None:
    """What a driver does: make a volume for each claim for which the scheduler has chosen a node."""
    names = [
        f"{pod['metadata']['name']}-{v['name']}" for v in pod["spec"].get("volumes", []) if "ephemeral" in v
    ]
    names += [
        v["persistentVolumeClaim"]["claimName"]
        for v in pod["spec"].get("volumes", [])
        if "persistentVolumeClaim" in v
    ]
    for name in names:
        claim = cluster.request("GET", f"{_claims(space)}/{name}").body
        meta = claim.get("metadata", {})
        node = meta.get("annotations", {}).get(SELECTED, "")
        if node and not claim["spec"].get("volumeName"):
            cluster.request("POST", VOLUMES, _made(cluster, claim, node))  # again: it is there already


def _made(cluster: Cluster, claim: Any, node: str) -> dict[str, Any]:
    meta, labels = (
        claim["metadata"],
        cluster.request("GET", f"/api/v1/nodes/{node}").ok()["metadata"]["labels"],
    )
    ref = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": meta["namespace"],
        "name": meta["name"],
    }
    return {
        "metadata": {"name": f"made-{meta['uid']}"},
        "spec": {
            "capacity": claim["spec"]["resources"]["requests"],
            "accessModes": claim["spec"]["accessModes"],
            "storageClassName": claim["spec"]["storageClassName"],
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": DRIVER, "volumeHandle": f"made-{meta['uid']}"},
            "claimRef": {**ref, "uid": meta["uid"]},
            "nodeAffinity": is_on(ZONE, labels[ZONE])
            if ZONE in labels
            else is_on(HOSTNAME, labels[HOSTNAME]),
        },
    }


def remove_volumes(cluster: Cluster) -> None:
    """No controller here frees what was in use: the finalizers are taken away by hand."""
    for kind in (CLAIMS, VOLUMES, CSI_NODES):
        for each in cluster.request("GET", kind).ok()["items"]:
            path = f"{_claims(each['metadata']['namespace'])}" if kind == CLAIMS else kind
            path = f"{path}/{each['metadata']['name']}"
            cluster.request("PATCH", path, {"metadata": {"finalizers": None}})
            cluster.request("DELETE", path)
        cluster.wait_for(kind, lambda found: not found["items"], what="all gone")


def _claims(space: str) -> str:
    return f"/api/v1/namespaces/{space}/persistentvolumeclaims"


def _all_bound(claims: Any) -> bool:
    return all(
        BOUND in each["metadata"].get("annotations", {})
        for each in claims["items"]
        if each["spec"].get("volumeName")
    )


def _none_is_pending(volumes: Any) -> bool:
    return all(each["status"].get("phase") in ("Bound", "Available") for each in volumes["items"])
