"""Claims of the simulated cluster: each is bound to a volume in the zone where its pod first ran."""

from collections.abc import Iterable, Mapping
from typing import Final

from holdfast.cloud.kubernetes import Meta, NodeSelector, Requirement, SelectorTerm
from holdfast.cloud.volumes import (
    BIND_COMPLETED,
    Claim,
    ClaimSpec,
    CsiDriver,
    CsiDriverSpec,
    CsiSource,
    PersistentVolume,
    PersistentVolumeSpec,
    StorageClass,
    VolumeAffinity,
    VolumeLists,
)
from holdfast.sim.kubernetes.pods import CLAIM, SimPod

ZONE: Final = "topology.kubernetes.io/zone"
DRIVER: Final = "disk.csi.sim"
MEASURED: Final = "measured.csi.sim"
"""A driver that tells how much storage is left where, which is not considered."""


def volume_lists(pods: Iterable[SimPod], zones: Mapping[str, str]) -> VolumeLists:
    """`zones`: of the volumes, by the name of the claim."""
    claims, volumes = [], []
    for pod in pods:
        workload, name = pod.workload, CLAIM.format(pod.name)
        zone = zones.get(name, "")
        if workload.claims:
            claims.append(_claim(workload.namespace, name, "disk", bound=bool(zone)))
        if workload.claims and zone:
            volumes.append(_volume(name, zone))
        if workload.unbound:
            claims.append(_claim(workload.namespace, name, "measured" if workload.in_doubt else "at once"))
    classes = (
        _class("disk", DRIVER, "WaitForFirstConsumer"),
        _class("measured", MEASURED, "WaitForFirstConsumer"),
        _class("at once", DRIVER, "Immediate"),
    )
    measured = CsiDriver(metadata=Meta(name=MEASURED), spec=CsiDriverSpec(storage_capacity=True))
    return VolumeLists(claims=claims, volumes=volumes, classes=classes, csi_drivers=(measured,))


def _class(name: str, provisioner: str, mode: str) -> StorageClass:
    return StorageClass(metadata=Meta(name=name), provisioner=provisioner, volume_binding_mode=mode)


def _claim(namespace: str, name: str, of_class: str, *, bound: bool = False) -> Claim:
    annotations = {BIND_COMPLETED: "yes"} if bound else {}
    return Claim(
        metadata=Meta(name=name, namespace=namespace, uid=f"claim-{name}", annotations=annotations),
        spec=ClaimSpec(storage_class_name=of_class, volume_name=f"volume-{name}" if bound else ""),
    )


def _volume(claim: str, zone: str) -> PersistentVolume:
    there = Requirement(key=ZONE, operator="In", values=(zone,))
    affinity = NodeSelector(node_selector_terms=(SelectorTerm(match_expressions=(there,)),))
    return PersistentVolume(
        metadata=Meta(name=f"volume-{claim}"),
        spec=PersistentVolumeSpec(
            storage_class_name="disk",
            node_affinity=VolumeAffinity(required=affinity),
            csi=CsiSource(driver=DRIVER, volume_handle=claim),
        ),
    )
