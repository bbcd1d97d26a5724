"""Claims, volumes and what nodes may attach, drawn from a seed, as the API would send them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec

from holdfast.cloud.volumes import BIND_COMPLETED, Claim, CsiNode, PersistentVolume, StorageClass, VolumeLists

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
DRIVER = "disk.example.com"
WAITS = {"volumeBindingMode": "WaitForFirstConsumer"}
IN_A_OR_B = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a", "b"]}]}]
CLASSES: list[dict[str, Any]] = [
    {"metadata": {"name": "waits"}, "provisioner": DRIVER, **WAITS},
    {"metadata": {"name": "waits-ab"}, "provisioner": DRIVER, **WAITS, "allowedTopologies": IN_A_OR_B},
    {"metadata": {"name": "local"}, "provisioner": "kubernetes.io/no-provisioner", **WAITS},
    {"metadata": {"name": "at-once"}, "provisioner": "none.example.com", "volumeBindingMode": "Immediate"},
]
KINDS = (
    "zonal",
    "zonal",
    "labelled",
    "tied",
    "alone",
    "waits",
    "waits",
    "waits-ab",
    "local",
    "local",
    "at-once",
)


@dataclass
class DrawnVolumes:
    claims: list[dict[str, Any]] = field(default_factory=list)
    volumes: list[dict[str, Any]] = field(default_factory=list)
    csi_nodes: list[dict[str, Any]] = field(default_factory=list)

    def lists(self) -> VolumeLists:
        """As the API sends them once the controllers have seen them: what names a volume is bound to it."""
        return VolumeLists(
            claims=[_as_seen(body) for body in self.claims],
            volumes=[
                msgspec.convert(
                    {**body, "status": {"phase": "Bound" if "claimRef" in body["spec"] else "Available"}},
                    PersistentVolume,
                )
                for body in self.volumes
            ],
            classes=msgspec.convert(CLASSES, list[StorageClass]),
            csi_nodes=msgspec.convert(self.csi_nodes, list[CsiNode]),
        )


def _as_seen(body: Mapping[str, Any]) -> Claim:
    annotations = {BIND_COMPLETED: "yes"} if body["spec"].get("volumeName") else {}
    uid = f"uid-{body['metadata']['name']}"
    return msgspec.convert(
        {**body, "metadata": {**body["metadata"], "uid": uid, "annotations": annotations}}, Claim
    )


def draw_volumes(seed: int, nodes: Sequence[str]) -> tuple[DrawnVolumes, Random]:
    """With the source of chance that says which pod has which."""
    random, drawn = Random(f"volumes {seed}"), DrawnVolumes()
    for n in range(8):
        space, name = random.choice(("near", "near", "far")), f"c-{seed}-{n}"
        _draw_claim(random, drawn, random.choice(KINDS), {"namespace": space, "name": name}, nodes)
    for n in range(random.randrange(2, 6)):
        drawn.volumes.append(
            _volume(
                f"free-{seed}-{n}",
                "local",
                is_on(HOSTNAME, random.choice(nodes)),
                random.choice("135"),
                csi=False,
            )
        )
    for node in nodes:
        if random.random() < 0.8:
            driver: dict[str, Any] = {"name": DRIVER, "nodeID": node, "topologyKeys": [ZONE]}
            driver["allocatable"] = {"count": random.choice((1, 2, 2, 3))}
            drawn.csi_nodes.append({"metadata": {"name": node}, "spec": {"drivers": [driver]}})
    return drawn, random


def _draw_claim(
    random: Random, drawn: DrawnVolumes, kind: str, meta: dict[str, str], nodes: Sequence[str]
) -> None:
    bound = kind in ("zonal", "labelled", "tied", "alone")
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOncePod" if kind == "alone" else "ReadWriteOnce"],
        "storageClassName": "waits" if bound else kind,
        "resources": {"requests": {"storage": f"{random.choice('124')}Gi"}},
    }
    if bound:
        name = spec["volumeName"] = f"pv-{meta['name']}"
        affinity = {"zonal": is_on(ZONE, random.choice("abc")), "tied": is_on(HOSTNAME, random.choice(nodes))}
        volume = _volume(name, "waits", affinity.get(kind), "4", csi=random.random() < 0.8)
        volume["spec"]["accessModes"] = spec["accessModes"]
        volume["spec"]["claimRef"] = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", **meta}
        if kind == "labelled":
            volume["metadata"]["labels"] = {ZONE: random.choice(("a", "b", "a__c"))}
        drawn.volumes.append(volume)
    drawn.claims.append({"metadata": meta, "spec": spec})


def is_on(label: str, value: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": label, "operator": "In", "values": [value]}]}
    return {"required": {"nodeSelectorTerms": [term]}}


def _volume(
    name: str, of_class: str, affinity: dict[str, Any] | None, size_gi: str, *, csi: bool
) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "capacity": {"storage": f"{size_gi}Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": of_class,
        "persistentVolumeReclaimPolicy": "Retain",
    }
    if csi:
        spec["csi"] = {"driver": DRIVER, "volumeHandle": f"handle-{name}"}
    elif of_class == "local":
        spec["local"] = {"path": "/mnt"}
    else:
        spec["nfs"] = {"server": "nfs.example.com", "path": "/"}
    if affinity is not None:
        spec["nodeAffinity"] = affinity
    return {"metadata": {"name": name}, "spec": spec}


def give_volumes(random: Random, body: dict[str, Any], drawn: DrawnVolumes, *, runs: bool) -> None:
    """One that runs already has claims that are bound; one that waits may have any, or none that is there."""
    space, found = body["metadata"]["namespace"], []
    if random.random() < 0.35:
        of_space = [
            each["metadata"]["name"]
            for each in drawn.claims
            if each["metadata"]["namespace"] == space and (not runs or "volumeName" in each["spec"])
        ]
        if random.random() < 0.05 and not runs:
            of_space.append("absent")
        names = random.sample(of_space, min(len(of_space), random.choice((1, 1, 2))))
        found += [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    if random.random() < 0.1 and not runs:
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": random.choice(("waits", "waits-ab")),
            "resources": {"requests": {"storage": "1Gi"}},
        }
        found.append({"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}})
    if found:
        body["spec"]["volumes"] = found
