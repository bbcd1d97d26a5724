"""The rules about volumes once more, the slow and obvious way: every question reads every list again."""

from collections.abc import Mapping
from dataclasses import replace

import msgspec
from msgspec import structs

from holdfast.autoscaler.scheduling.match import selects_node
from holdfast.cloud.kubernetes import KubeNode, Meta, NodeSelector, Pod, Requirement, SelectorTerm
from holdfast.cloud.quantity import whole
from holdfast.cloud.volumes import (
    BIND_COMPLETED,
    Claim,
    ClaimRef,
    ClaimSpec,
    CsiSource,
    PersistentVolume,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    VolumeAffinity,
    VolumeLists,
)

ZONE = "topology.kubernetes.io/zone"
Where = Mapping[str, list[Pod]]


def volumes_allow(pod: Pod, node: KubeNode, where: Where, lists: VolumeLists) -> bool:
    claims = _claims(pod, lists)
    if any(claim is None for claim in claims):
        return False
    there = [claim for claim in claims if claim is not None]
    waiting = [claim for claim in there if not claim.is_bound]
    return (
        all(_reaches(claim, node, lists) for claim in there if claim.is_bound)
        and all(_waits(claim, lists) for claim in waiting)
        and _chosen(waiting, node, lists) is not None
        and not any(_is_in_use(claim, where) for claim in there)
        and _has_room(pod, node, where, lists)
    )


def after_placing(pod: Pod, node: KubeNode, lists: VolumeLists) -> VolumeLists:
    """As the lists are once its claims are bound."""
    waiting = [
        claim
        for claim in _claims(pod, lists)
        if claim is not None and claim.metadata.uid and not claim.is_bound
    ]
    chosen = _chosen(waiting, node, lists)
    assert chosen is not None
    for claim, volume in chosen:
        if volume is None:
            volume = _made(claim, node, lists)
            lists = replace(lists, volumes=[*lists.volumes, volume])
        lists = _bound(claim, volume, lists)
    return lists


def _claims(pod: Pod, lists: VolumeLists) -> list[Claim | None]:
    found: list[Claim | None] = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            key = pod.metadata.namespace, volume.persistent_volume_claim["claimName"]
            found.append(
                next((c for c in lists.claims if (c.metadata.namespace, c.metadata.name) == key), None)
            )
        elif volume.ephemeral is not None:
            spec = msgspec.convert(volume.ephemeral["volumeClaimTemplate"]["spec"], ClaimSpec)
            name = f"{pod.metadata.name}-{volume.name}"
            found.append(Claim(metadata=Meta(name=name, namespace=pod.metadata.namespace), spec=spec))
    return found


def _volume(claim: Claim, lists: VolumeLists) -> PersistentVolume | None:
    return next((each for each in lists.volumes if each.metadata.name == claim.spec.volume_name), None)


def _class(claim: Claim, lists: VolumeLists) -> StorageClass | None:
    return next((each for each in lists.classes if each.metadata.name == claim.spec.storage_class_name), None)


def _waits(claim: Claim, lists: VolumeLists) -> bool:
    of_class = _class(claim, lists)
    return of_class is not None and of_class.volume_binding_mode == "WaitForFirstConsumer"


def _accepts(volume: PersistentVolume, node: KubeNode) -> bool:
    affinity = volume.spec.node_affinity
    return (
        affinity is None
        or affinity.required is None
        or selects_node(affinity.required, "", node.metadata.labels)
    )


def _reaches(claim: Claim, node: KubeNode, lists: VolumeLists) -> bool:
    volume, labels = _volume(claim, lists), node.metadata.labels
    if volume is None or not _accepts(volume, node):
        return False
    zones = volume.metadata.labels.get(ZONE)
    return zones is None or ZONE not in labels or labels[ZONE] in zones.split("__")


def _chosen(
    waiting: list[Claim], node: KubeNode, lists: VolumeLists
) -> list[tuple[Claim, PersistentVolume | None]] | None:
    found: list[tuple[Claim, PersistentVolume | None]] = []
    for claim in sorted(waiting, key=_size):
        fitting = [
            each
            for each in lists.volumes
            if each.status.phase == "Available"
            and each.spec.storage_class_name == claim.spec.storage_class_name
            and whole(each.spec.capacity["storage"]) >= _size(claim)
            and _accepts(each, node)
            and not any(each is taken for _, taken in found)
        ]
        if fitting:
            found.append((claim, min(fitting, key=lambda each: whole(each.spec.capacity["storage"]))))
        elif _can_be_made(claim, node, lists):
            found.append((claim, None))
        else:
            return None
    return found


def _size(claim: Claim) -> int:
    return whole(claim.spec.resources.requests["storage"])


def _can_be_made(claim: Claim, node: KubeNode, lists: VolumeLists) -> bool:
    of_class = _class(claim, lists)
    if of_class is None or of_class.provisioner == "kubernetes.io/no-provisioner":
        return False
    terms = [term.match_label_expressions for term in of_class.allowed_topologies]
    labels = node.metadata.labels
    return not terms or any(all(labels.get(each.key) in each.values for each in term) for term in terms)


def _users(claim: Claim, pods: list[Pod]) -> bool:
    return any(
        pod.metadata.namespace == claim.metadata.namespace
        and volume.persistent_volume_claim is not None
        and volume.persistent_volume_claim["claimName"] == claim.metadata.name
        for pod in pods
        for volume in pod.spec.volumes
    )


def _is_in_use(claim: Claim, where: Where) -> bool:
    return "ReadWriteOncePod" in claim.spec.access_modes and any(
        _users(claim, pods) for pods in where.values()
    )


def _has_room(pod: Pod, node: KubeNode, where: Where, lists: VolumeLists) -> bool:
    name = node.metadata.name
    limits = next((each.limits for each in lists.csi_nodes if each.metadata.name == name), {})
    there = {each for other in where[name] for each in _attached(other, lists)}
    more = _attached(pod, lists) - there
    return all(
        sum(driver == each for each, _ in more | there) <= limit
        for driver, limit in limits.items()
        if any(driver == each for each, _ in more)
    )


def _attached(pod: Pod, lists: VolumeLists) -> set[tuple[str, str]]:
    found = set()
    for claim in _claims(pod, lists):
        if claim is None:
            continue
        volume, of_class = _volume(claim, lists), _class(claim, lists)
        if volume is not None and volume.spec.csi is not None:
            found.add((volume.spec.csi.driver, volume.spec.csi.volume_handle))
        elif volume is None and of_class is not None:
            found.add((of_class.provisioner, f"{claim.metadata.namespace}/{claim.metadata.name}"))
    return found


def _made(claim: Claim, node: KubeNode, lists: VolumeLists) -> PersistentVolume:
    of_class, zone = _class(claim, lists), node.metadata.labels.get(ZONE)
    assert of_class is not None
    there = Requirement(key=ZONE, operator="In", values=(zone or "",))
    selector = NodeSelector(node_selector_terms=(SelectorTerm(match_expressions=(there,)),))
    return PersistentVolume(
        metadata=Meta(name=f"made-{claim.metadata.name}"),
        spec=PersistentVolumeSpec(
            node_affinity=VolumeAffinity(required=selector if zone else None),
            csi=CsiSource(driver=of_class.provisioner, volume_handle=f"made-{claim.metadata.name}"),
        ),
    )


def _bound(claim: Claim, volume: PersistentVolume, lists: VolumeLists) -> VolumeLists:
    meta, name = claim.metadata, volume.metadata.name
    bound = structs.replace(
        claim,
        metadata=structs.replace(meta, annotations={**meta.annotations, BIND_COMPLETED: "yes"}),
        spec=structs.replace(claim.spec, volume_name=name),
    )
    ref = ClaimRef(namespace=meta.namespace, name=meta.name, uid=meta.uid)
    taken = structs.replace(
        volume, spec=structs.replace(volume.spec, claim_ref=ref), status=PersistentVolumeStatus(phase="Bound")
    )
    return replace(
        lists,
        claims=[bound if each is claim else each for each in lists.claims],
        volumes=[taken if each is volume else each for each in lists.volumes],
    )
