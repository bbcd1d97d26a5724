"""Claims, volumes and storage classes as the Kubernetes API sends them: only the fields that we need."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from holdfast.cloud.kubernetes import LabelSelector, Meta, NodeSelector, Pod, Resources, Value

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
"""How claims and volumes named their class before they had a field for it."""


class ClaimSpec(Value, frozen=True):
    storage_class_name: str | None = None
    volume_name: str = ""
    access_modes: tuple[str, ...] = ()
    resources: Resources = Resources()
    selector: LabelSelector | None = None
    volume_mode: str = "Filesystem"
    volume_attributes_class_name: str = ""


class ClaimStatus(Value, frozen=True):
    phase: str = ""


class Claim(Value, frozen=True):
    """A PersistentVolumeClaim."""

    metadata: Meta
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def class_name(self) -> str:
        return self.metadata.annotations.get(CLASS_ANNOTATION) or self.spec.storage_class_name or ""

    @property
    def is_bound(self) -> bool:
        """Both ways: claim and volume know each other."""
        return bool(self.spec.volume_name) and BIND_COMPLETED in self.metadata.annotations


class ClaimRef(Value, frozen=True):
    namespace: str = ""
    name: str = ""
    uid: str = ""


class CsiSource(Value, frozen=True):
    driver: str = ""
    volume_handle: str = ""


class EbsSource(Value, frozen=True):
    """Of the time before CSI drivers; such volumes are served by the driver now."""

    volume_id: str = msgspec.field(default="", name="volumeID")


class VolumeAffinity(Value, frozen=True):
    required: NodeSelector | None = None


class PersistentVolumeSpec(Value, frozen=True):
    capacity: dict[str, str | int | float] = msgspec.field(default_factory=dict)
    access_modes: tuple[str, ...] = ()
    claim_ref: ClaimRef | None = None
    storage_class_name: str = ""
    node_affinity: VolumeAffinity | None = None
    volume_mode: str = "Filesystem"
    volume_attributes_class_name: str = ""
    csi: CsiSource | None = None
    aws_elastic_block_store: EbsSource | None = None


class PersistentVolumeStatus(Value, frozen=True):
    phase: str = ""


class PersistentVolume(Value, frozen=True):
    metadata: Meta
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()

    @property
    def class_name(self) -> str:
        return self.metadata.annotations.get(CLASS_ANNOTATION) or self.spec.storage_class_name


class TopologyExpression(Value, frozen=True):
    key: str = ""
    values: tuple[str, ...] = ()


class TopologyTerm(Value, frozen=True):
    match_label_expressions: tuple[TopologyExpression, ...] = ()


class StorageClass(Value, frozen=True):
    metadata: Meta
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologyTerm, ...] = ()

    @property
    def waits_for_pods(self) -> bool:
        return self.volume_binding_mode == "WaitForFirstConsumer"


class Allocatable(Value, frozen=True):
    count: int | None = None


class NodeDriver(Value, frozen=True):
    name: str = ""
    allocatable: Allocatable | None = None


class CsiNodeSpec(Value, frozen=True):
    drivers: tuple[NodeDriver, ...] | None = None


class CsiNode(Value, frozen=True):
    """What the CSI drivers of one node say; it has the node's name."""

    metadata: Meta
    spec: CsiNodeSpec = CsiNodeSpec()

    @property
    def limits(self) -> dict[str, int]:
        """How many volumes of each driver the node can have attached, where the driver says it."""
        return {
            driver.name: driver.allocatable.count
            for driver in self.spec.drivers or ()
            if driver.allocatable is not None and driver.allocatable.count is not None
        }


class CsiDriverSpec(Value, frozen=True):
    storage_capacity: bool = False


class CsiDriver(Value, frozen=True):
    metadata: Meta
    spec: CsiDriverSpec = CsiDriverSpec()


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeLists:
    """All that decides where pods with volumes may run."""

    claims: Sequence[Claim] = ()
    volumes: Sequence[PersistentVolume] = ()
    classes: Sequence[StorageClass] = ()
    csi_nodes: Sequence[CsiNode] = ()
    csi_drivers: Sequence[CsiDriver] = ()


def has_claims(pod: Pod) -> bool:
    for volume in pod.spec.volumes:  # asked of every pod: no generator
        if volume.persistent_volume_claim is not None or volume.ephemeral is not None:
            return True
    return False
