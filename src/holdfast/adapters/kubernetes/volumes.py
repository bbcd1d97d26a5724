"""Lists of claims, volumes and storage classes, and what CSI drivers say of nodes."""

from collections.abc import Sequence

import msgspec

from holdfast.adapters.kubernetes import calls
from holdfast.adapters.kubernetes.client import Client
from holdfast.adapters.kubernetes.lists import Page, listed
from holdfast.cloud.volumes import Claim, CsiDriver, CsiNode, PersistentVolume, StorageClass, VolumeLists

CLAIMS = "/api/v1/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
STORAGE = "/apis/storage.k8s.io/v1"

_claims = msgspec.json.Decoder(Page[Claim])
_volumes = msgspec.json.Decoder(Page[PersistentVolume])
_classes = msgspec.json.Decoder(Page[StorageClass])
_csi_nodes = msgspec.json.Decoder(Page[CsiNode])
_csi_drivers = msgspec.json.Decoder(Page[CsiDriver])


def claims(client: Client) -> Sequence[Claim]:
    return listed(client, calls.LIST_CLAIMS, CLAIMS, _claims)


def persistent_volumes(client: Client) -> Sequence[PersistentVolume]:
    return listed(client, calls.LIST_VOLUMES, VOLUMES, _volumes)


def storage_classes(client: Client) -> Sequence[StorageClass]:
    return listed(client, calls.LIST_CLASSES, f"{STORAGE}/storageclasses", _classes)


def csi_nodes(client: Client) -> Sequence[CsiNode]:
    return listed(client, calls.LIST_CSI_NODES, f"{STORAGE}/csinodes", _csi_nodes)


def csi_drivers(client: Client) -> Sequence[CsiDriver]:
    return listed(client, calls.LIST_CSI_DRIVERS, f"{STORAGE}/csidrivers", _csi_drivers)


def volume_lists(client: Client) -> VolumeLists:
    return VolumeLists(
        claims=claims(client),
        volumes=persistent_volumes(client),
        classes=storage_classes(client),
        csi_nodes=csi_nodes(client),
        csi_drivers=csi_drivers(client),
    )
