"""Reads what the volumes of pods ask for, from claims, volumes and classes as they are listed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec import structs

from holdfast.autoscaler.scheduling.match import selects_pod
from holdfast.autoscaler.scheduling.volumes.needs import (
    NO_NEEDS,
    ZONE_LABELS,
    Choice,
    VolumeDoubt,
    VolumeNeeds,
)
from holdfast.cloud.kubernetes import Meta, Pod, Volume
from holdfast.cloud.quantity import whole
from holdfast.cloud.volumes import (
    DEFAULT_CLASS,
    SELECTED_NODE,
    Claim,
    ClaimSpec,
    PersistentVolume,
    StorageClass,
    VolumeLists,
    has_claims,
)

NO_PROVISIONER = "kubernetes.io/no-provisioner"
EBS = "ebs.csi.aws.com"
IN_TREE = {"kubernetes.io/aws-ebs": EBS}
"""Names of the time before CSI drivers, and who does their work now."""
ALONE = "ReadWriteOncePod"
ONLY_DISKS = VolumeNeeds(doubts=(VolumeDoubt.DISK,))


class VolumesReader:
    """`lists` None: they could not be had, and every claim is in doubt."""

    def __init__(self, lists: VolumeLists | None, pods: Iterable[Pod] = ()) -> None:
        self.is_known, lists = lists is not None, lists or VolumeLists()
        self._claims = {(each.metadata.namespace, each.metadata.name): each for each in lists.claims}
        self._volumes = {each.metadata.name: each for each in lists.volumes}
        self._classes = {each.metadata.name: each for each in lists.classes}
        self._of_class: dict[str, list[PersistentVolume]] = {}
        for volume in lists.volumes:
            self._of_class.setdefault(volume.class_name, []).append(volume)
        self._tells_capacity = {
            each.metadata.name for each in lists.csi_drivers if each.spec.storage_capacity
        }
        self._users = Counter(
            (pod.metadata.namespace, name) for pod in pods for name in claim_names(pod)
        )  # fmt: skip
        self._read: dict[tuple[object, ...], VolumeNeeds] = {}

    def needs_of(self, pod: Pod) -> VolumeNeeds | None:
        """None: it has claims, and these are not known."""
        if not is_weighed(pod):
            return NO_NEEDS
        disks = any(map(_is_disk, pod.spec.volumes))
        if not has_claims(pod):
            return ONLY_DISKS
        if not self.is_known:
            return None
        key = pod.metadata.namespace, tuple(claim_names(pod)), bool(pod.spec.node_name), disks
        if key not in self._read:
            self._read[key] = self._parse(pod, disks)
        return self._read[key]

    def _parse(self, pod: Pod, disks: bool) -> VolumeNeeds:
        needs = VolumeNeeds(doubts=(VolumeDoubt.DISK,) if disks else ())
        gathered = _Gathered()
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is not None or volume.ephemeral is not None:
                claim, why = self._claim(pod, volume)
                if claim is None:
                    return VolumeNeeds(nowhere=why)
                if why := self._add(claim, gathered, is_new=not claim.metadata.uid):
                    return VolumeNeeds(nowhere=why)
        return gathered.needs(needs.doubts)

    def _claim(self, pod: Pod, volume: Volume) -> tuple[Claim | None, str]:
        """An ephemeral volume is claimed anew by the pod that replaces this one."""
        name = claim_name(pod, volume)
        claim = self._claims.get((pod.metadata.namespace, name))
        if volume.ephemeral is not None and (pod.spec.node_name or claim is None):
            return self._as_templated(pod, volume, name), ""
        if claim is None:
            return None, f"its claim is not there: {name}"
        if claim.metadata.deletion_timestamp is not None:
            return None, f"its claim is being deleted: {name}"
        if claim.status.phase == "Lost":
            return None, f"the volume of its claim is lost: {name}"
        owners = claim.metadata.owner_references
        if volume.ephemeral is not None and not any(each.name == pod.metadata.name for each in owners):
            return None, f"its claim belongs to another: {name}"
        return claim, ""

    def _as_templated(self, pod: Pod, volume: Volume, name: str) -> Claim:
        template = (volume.ephemeral or {}).get("volumeClaimTemplate") or {}
        spec = msgspec.convert(template.get("spec") or {}, ClaimSpec)
        if spec.storage_class_name is None:
            spec = structs.replace(spec, storage_class_name=self._default_class())
        return Claim(metadata=Meta(name=name, namespace=pod.metadata.namespace), spec=spec)

    def _default_class(self) -> str:
        found = [
            each for each in self._classes.values() if each.metadata.annotations.get(DEFAULT_CLASS) == "true"
        ]
        newest = max(
            found, key=lambda each: (each.metadata.creation_timestamp, each.metadata.name), default=None
        )
        return newest.metadata.name if newest is not None else ""

    def _add(self, claim: Claim, to: "_Gathered", *, is_new: bool) -> str:
        """What this claim adds; or why it keeps the pod off every node."""
        name = claim.metadata.name
        bound = self._volumes.get(claim.spec.volume_name)
        of_class = self._classes.get(claim.class_name)
        if claim.spec.volume_name and bound is None:
            return f"the volume of its claim is not there: {name}"
        if bound is not None and claim.is_bound:
            to.bind(bound)
        elif of_class is None or not of_class.waits_for_pods or claim.spec.volume_name:
            if not is_new:
                return f"its claim is not bound, and no node changes that: {name}"
            if of_class is None:
                return f"its claim names no storage class that is there: {name}"
            to.doubts.append(VolumeDoubt.IMMEDIATE)
        elif selected := claim.metadata.annotations.get(SELECTED_NODE, ""):
            to.selected.add(selected)
            self._choose(claim, of_class, to, ())
        else:
            self._choose(
                claim, of_class, to, tuple(_fitting(claim, self._of_class.get(claim.class_name, ())))
            )
        if ALONE in claim.spec.access_modes:
            to.alone.append(f"{claim.metadata.namespace}/{name}")
        self._attach(claim, bound, of_class, to)
        return ""

    def _choose(
        self, claim: Claim, of_class: StorageClass, to: "_Gathered", volumes: tuple[PersistentVolume, ...]
    ) -> None:
        made = of_class.provisioner not in ("", NO_PROVISIONER)
        if made and of_class.provisioner in self._tells_capacity:
            to.doubts.append(VolumeDoubt.CAPACITY)
        names = tuple(
            (each.metadata.name, each.spec.node_affinity.required if each.spec.node_affinity else None)
            for each in volumes
        )
        size = whole(claim.spec.resources.requests.get("storage", 0))
        key = claim.metadata.namespace, claim.metadata.name
        shared = "/".join(key) if self._users[key] > 1 else ""
        to.choices.append((size, Choice(names, of_class.allowed_topologies if made else None, shared)))

    def _attach(
        self, claim: Claim, bound: PersistentVolume | None, of_class: StorageClass | None, to: "_Gathered"
    ) -> None:
        """One that is not bound counts for the driver that would make it."""
        key = claim.metadata.namespace, claim.metadata.name
        if bound is not None:
            driver, handle = _attached(bound)
        else:
            driver, handle = (of_class.provisioner if of_class else ""), "/".join(key)
        driver = IN_TREE.get(driver, driver)
        if not driver or driver == NO_PROVISIONER:
            return
        if self._users[key] > 1:
            to.shared.add((driver, handle))
        else:
            to.own[driver] += 1


class _Gathered:
    """The needs of one pod while its claims are read."""

    def __init__(self) -> None:
        self.bound: list[PersistentVolume] = []
        self.choices: list[tuple[int, Choice]] = []
        self.own: Counter[str] = Counter()
        self.shared: set[tuple[str, str]] = set()
        self.alone: list[str] = []
        self.selected: set[str] = set()
        self.doubts: list[VolumeDoubt] = []

    def bind(self, volume: PersistentVolume) -> None:
        self.bound.append(volume)

    def needs(self, doubts: tuple[VolumeDoubt, ...]) -> VolumeNeeds:
        if len(self.selected) > 1:
            return VolumeNeeds(nowhere="volumes are being made for it on several nodes")
        affinities = [each.spec.node_affinity for each in self.bound]
        return VolumeNeeds(
            selectors=tuple(
                each.required for each in affinities if each is not None and each.required is not None
            ),
            zones=tuple(zone for each in self.bound for zone in _zones(each.metadata.labels)),
            selected_node=next(iter(self.selected), ""),
            choices=tuple(choice for _, choice in sorted(self.choices, key=lambda each: each[0])),
            own=tuple(sorted(self.own.items())),
            shared=tuple(sorted(self.shared)),
            alone=tuple(self.alone),
            doubts=(*doubts, *dict.fromkeys(self.doubts)),
        )


def claim_names(pod: Pod) -> Iterator[str]:
    return (name for volume in pod.spec.volumes if (name := claim_name(pod, volume)))


def claim_name(pod: Pod, volume: Volume) -> str:
    """Of an ephemeral volume it is made of the names of pod and volume."""
    if volume.persistent_volume_claim is not None:
        return str(volume.persistent_volume_claim.get("claimName", "")) or "without a name"
    return f"{pod.metadata.name}-{volume.name}" if volume.ephemeral is not None else ""


def is_weighed(pod: Pod) -> bool:
    """Whether any of its volumes matters here."""
    for v in pod.spec.volumes:  # asked of every pod: no generator, no call
        if v.persistent_volume_claim is not None or v.ephemeral is not None:
            return True
        if v.aws_elastic_block_store or v.gce_persistent_disk or v.iscsi or v.rbd:
            return True
    return False


def _is_disk(volume: Volume) -> bool:
    return bool(volume.aws_elastic_block_store or volume.gce_persistent_disk or volume.iscsi or volume.rbd)


def _zones(labels: Mapping[str, str]) -> Iterator[tuple[str, frozenset[str]]]:
    for label in ZONE_LABELS:
        if label in labels:
            yield label, frozenset(labels[label].split("__"))


def _attached(volume: PersistentVolume) -> tuple[str, str]:
    """The driver that attaches it, and its name there.  Empty: no limit counts it."""
    spec = volume.spec
    if spec.csi is not None:
        return spec.csi.driver, spec.csi.volume_handle
    if spec.aws_elastic_block_store is not None:
        return EBS, spec.aws_elastic_block_store.volume_id
    return "", ""


def _fitting(claim: Claim, volumes: Iterable[PersistentVolume]) -> list[PersistentVolume]:
    """The volumes that this claim could be bound to, the smallest first.  One kept for it outranks all."""
    wanted, size = claim.spec, whole(claim.spec.resources.requests.get("storage", 0))
    found = []
    for volume in volumes:
        spec = volume.spec
        if whole(spec.capacity.get("storage", 0)) < size or spec.volume_mode != wanted.volume_mode:
            continue
        if volume.metadata.deletion_timestamp is not None:
            continue
        if spec.volume_attributes_class_name != wanted.volume_attributes_class_name:
            continue
        if spec.claim_ref is not None:
            if _is_kept_for(volume, claim):
                return [volume]
            continue
        if volume.status.phase != "Available" or not set(wanted.access_modes) <= set(spec.access_modes):
            continue
        if wanted.selector is not None and not selects_pod(wanted.selector, volume.metadata.labels):
            continue
        found.append(volume)
    return sorted(found, key=lambda volume: whole(volume.spec.capacity.get("storage", 0)))


def _is_kept_for(volume: PersistentVolume, claim: Claim) -> bool:
    ref, own = volume.spec.claim_ref, claim.metadata
    return (
        ref is not None
        and (ref.namespace, ref.name) == (own.namespace, own.name)
        and ref.uid in ("", own.uid)
    )
