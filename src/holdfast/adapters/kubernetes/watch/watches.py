"""All that is followed of one cluster, and what can be said of it at one moment."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from holdfast.adapters.clock import mono_s
from holdfast.adapters.kubernetes import calls, volumes
from holdfast.adapters.kubernetes.api import BUDGETS, NAMESPACES, NODES, PODS, KubernetesApi
from holdfast.adapters.kubernetes.client import Client
from holdfast.adapters.kubernetes.volumes import CLAIMS, STORAGE, VOLUMES
from holdfast.adapters.kubernetes.watch.course import PACE, Pace
from holdfast.adapters.kubernetes.watch.current import doubt
from holdfast.adapters.kubernetes.watch.follower import Follower
from holdfast.adapters.kubernetes.watch.kind import Kind
from holdfast.adapters.kubernetes.watch.store import Change
from holdfast.cloud.kubernetes import Budget, KubeNode, Namespace, Pod
from holdfast.cloud.volumes import Claim, CsiNode, PersistentVolume, VolumeLists
from holdfast.kernel import Busy

KUBE_SYSTEM: Final = "kube-system"
KINDS: Final[Sequence[Kind[Any]]] = (
    Kind(KubeNode, calls.LIST_NODES, calls.WATCH_NODES, NODES),
    Kind(Pod, calls.LIST_PODS, calls.WATCH_PODS, PODS),
    Kind(Budget, calls.LIST_BUDGETS, calls.WATCH_BUDGETS, BUDGETS),
    Kind(Namespace, calls.LIST_NAMESPACES, calls.WATCH_NAMESPACES, NAMESPACES),
    Kind(Claim, calls.LIST_CLAIMS, calls.WATCH_CLAIMS, CLAIMS),
    Kind(PersistentVolume, calls.LIST_VOLUMES, calls.WATCH_VOLUMES, VOLUMES),
    Kind(CsiNode, calls.LIST_CSI_NODES, calls.WATCH_CSI_NODES, f"{STORAGE}/csinodes"),
)
"""All that is followed.  Storage classes and CSI drivers are few, and listed where a pod has a claim."""

Lists = Mapping[type[Any], Sequence[Any]]
"""By kind, as they were at one moment."""
Changed = Callable[[Any, Any], None]
"""Called with what an object was and is; with None twice when all of its kind were listed anew."""


class Watches:
    """Follows each kind in a thread, from `start` until `stop` is set."""

    def __init__(self, changed: Changed, told: Callable[[str], None], pace: Pace = PACE) -> None:
        def heard(change: Change[Any] | None) -> None:
            changed(*((change.before, change.after) if change else (None, None)))

        self.stop = threading.Event()
        self._pace = pace
        self._since: tuple[int, float] = (-1, 0.0)
        """The version of the record that was asked for last, and when it was first."""
        self._followers = [Follower(kind, heard, told, pace) for kind in KINDS]

    def start(self, connect: Callable[[], Client]) -> None:
        """`connect` is called by each thread, and again after failures; they may share what it gives."""
        for each in self._followers:
            threading.Thread(
                target=each.run, args=(connect, self.stop), name=f"watch {each.kind.what}", daemon=True
            ).start()

    def begin_anew(self) -> None:
        for each in self._followers:
            each.begin_anew()

    @property
    def listings(self) -> int:
        """How often a kind was listed whole."""
        return sum(each.listings for each in self._followers)

    @property
    def trouble(self) -> str:
        """What has kept one of them from being followed for a while; empty: nothing does."""
        return next(filter(None, (each.trouble for each in self._followers)), "")

    def doubt(self, since_s: float = float("-inf")) -> str:
        """Why it is not known to be current; empty: it is."""
        return doubt([each.fed for each in self._followers], mono_s(), since_s, self._pace)

    def current(self, version: int) -> Lists | None:
        """All of it, if it is known to be current and no older than this version of a record.

        A version that was not asked for before may be as young as this moment.
        """
        if version != self._since[0]:
            self._since = (version, mono_s())
        if self.doubt(self._since[1]):
            return None
        return {each.kind.of: each.things() for each in self._followers}


@dataclass(repr=False, eq=False)
class PicturedApi(KubernetesApi):
    """The API server, but for the lists of a picture: those are not asked for again."""

    client: Client
    watches: Watches
    lists: Lists

    def cluster_uid(self) -> str:
        """Asked for: a server that answers now may be another one than that which was watched."""
        uid = super().cluster_uid()
        seen = {each.metadata.name: each.metadata.uid for each in self.namespaces()}
        if uid != seen.get(KUBE_SYSTEM):
            self.watches.begin_anew()
            raise Busy(f"what was watched is not of the cluster {uid} that answers now")
        return uid

    def nodes(self) -> Sequence[KubeNode]:
        return self.lists[KubeNode]

    def pods(self, node_name: str | None = None) -> Sequence[Pod]:
        """Those of one node are wanted only to move them, so they are listed anew."""
        return self.lists[Pod] if node_name is None else super().pods(node_name)

    def budgets(self) -> Sequence[Budget]:
        return self.lists[Budget]

    def namespaces(self) -> Sequence[Namespace]:
        return self.lists[Namespace]

    def volumes(self) -> VolumeLists:
        return VolumeLists(
            claims=self.lists[Claim],
            volumes=self.lists[PersistentVolume],
            classes=volumes.storage_classes(self.client),
            csi_nodes=self.lists[CsiNode],
            csi_drivers=volumes.csi_drivers(self.client),
        )
