"""What takes room on each node, gathered in one pass over the pods.

So many pods are more than a processor keeps at hand.  Each is looked at once, in the order in which it was
listed, for all that is asked of its node later.
"""

from collections.abc import Iterable

from holdfast.autoscaler.scale_down.drain import MIRROR
from holdfast.autoscaler.scheduling.fit import NO_PORTS, HostPort, host_ports
from holdfast.autoscaler.scheduling.volumes.reader import is_weighed
from holdfast.cloud.kubernetes import FINISHED, Owner, Pod
from holdfast.cloud.requests import Amount, requests_of, total


class NodeInfo:
    """What takes room on one node: the pods that run there, and those that are about to."""

    __slots__ = ("_requests", "asking", "empty", "pods", "ports")

    def __init__(self, pods: Iterable[Pod] = ()) -> None:
        self.pods: list[Pod] = []
        """Those that have not run to their end."""
        self.asking: list[Pod] = []
        """Those of them that ask for something of other pods, or of volumes."""
        self.ports: frozenset[HostPort] = NO_PORTS
        self.empty = True
        """All of them come and go with the node."""
        self._requests: list[Amount] = []
        for pod in pods:
            self.add(pod)

    @property
    def requested(self) -> Amount:
        return total(self._requests)

    def add(self, pod: Pod) -> Owner | None:
        """The DaemonSet that owns it, if one does and it has not run to its end."""
        spec, phase, daemon = pod.spec, pod.status.phase, None
        if phase != "Running" and phase in FINISHED:
            return None
        self.pods.append(pod)
        self._requests.append(requests_of(pod))
        one = len(spec.containers) == 1 and not spec.init_containers  # most pods have no port at all
        if (not one or spec.containers[0].ports) and (ports := host_ports(pod)):
            self.ports |= ports
        if asks(pod):
            self.asking.append(pod)
        for owner in pod.metadata.owner_references:
            if owner.controller:
                daemon = owner if owner.kind == "DaemonSet" else None
                break
        if self.empty and daemon is None and MIRROR not in pod.metadata.annotations:
            self.empty = False
        return daemon


class NodeInfos:
    """Of every node that a pod names, whether that node is listed or not."""

    def __init__(self) -> None:
        self._by_node: dict[str, NodeInfo] = {}
        self._daemons: dict[tuple[str, str], tuple[tuple[int, int], Pod]] = {}

    def __getitem__(self, node: str) -> NodeInfo:
        return self._by_node.get(node) or NodeInfo()

    @property
    def daemons(self) -> list[Pod]:
        """One pod of each DaemonSet, the one that asks for most."""
        return [pod for _, pod in self._daemons.values()]

    def add(self, pods: Iterable[Pod]) -> None:
        """Pods that are on a node; the others are passed over."""
        by_node = self._by_node
        for pod in pods:
            name = pod.spec.node_name
            if not name:
                continue
            info = by_node.get(name)
            if info is None:
                info = by_node[name] = NodeInfo()
            daemon = info.add(pod)
            if daemon is not None:
                self._note(daemon, pod)

    def nominate(self, node: str, pods: Iterable[Pod]) -> None:
        """Pods for which the scheduler makes room there."""
        info = self._by_node.setdefault(node, NodeInfo())
        for pod in pods:
            info.add(pod)

    def _note(self, daemon: Owner, pod: Pod) -> None:
        wants = requests_of(pod)
        key, size = (pod.metadata.namespace, daemon.name), (wants.cpu_m, wants.memory)
        known = self._daemons.get(key)
        if known is None or known[0] < size:
            self._daemons[key] = size, pod


def asks(pod: Pod) -> bool:
    """Whether the pod itself may ask for something of other pods, or of its volumes."""
    spec = pod.spec
    if spec.affinity is not None or spec.topology_spread_constraints:
        return True
    return bool(spec.volumes) and is_weighed(pod)
