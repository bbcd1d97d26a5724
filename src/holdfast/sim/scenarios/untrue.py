"""What processes are shown instead of the truth: clusters and machines behind a listing that lies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from holdfast.cloud import Instance
from holdfast.cloud.kubernetes import Evicted, Eviction, KubeNode, Pod
from holdfast.kernel import Conflict
from holdfast.sim.ec2.cloud import SimCloud
from holdfast.sim.kubernetes.cluster import SimKubernetes

TICK_S: Final = 300.0
"""A process may have looked at the right cluster so long ago, and act on the other one now."""


@dataclass
class Untrue:
    another: str = ""
    """The identity of a cluster that answers in place of ours;"""
    another_since_s: float = 0.0
    """and since when."""
    empty: bool = False
    """The API answers with empty lists."""
    nodes: set[str] = field(default_factory=set)
    """Nodes that no listing shows."""
    machines: set[str] = field(default_factory=set)
    """Machines that no listing shows: of another region, or with another cluster's tag."""
    retagged: set[str] = field(default_factory=set)
    """Machines whose action was overwritten."""
    forged: set[str] = field(default_factory=set)
    """Machines of others that were given our tags."""

    @property
    def hides_nodes(self) -> bool:
        return bool(self.another or self.empty or self.nodes)


class SeenCluster:
    """The cluster as it is shown."""

    def __init__(self, cluster: SimKubernetes, untrue: Untrue, accuse: Callable[[str], None]) -> None:
        self._cluster, self._untrue, self._accuse = cluster, untrue, accuse

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    def _is_another(self, does: str = "") -> bool:
        """Every change names a uid, which the other cluster does not know."""
        untrue = self._untrue
        if untrue.another and does and self._cluster.world.now - untrue.another_since_s > TICK_S:
            self._accuse(f"S-A9: {does} on another cluster")
        return bool(untrue.another)

    def node(self, name: str) -> KubeNode | None:
        return None if self._is_another() else self._cluster.node(name)

    def change_node(self, node: KubeNode, changed: KubeNode) -> KubeNode:
        if self._is_another("a changed node"):
            raise Conflict(f"node {node.metadata.name} is not there")
        return self._cluster.change_node(node, changed)

    def evict(self, pod: Pod, *, grace_s: int | None = None, dry_run: bool = False) -> Evicted:
        if self._is_another("" if dry_run else "an eviction"):
            return Evicted(Eviction.GONE)
        return self._cluster.evict(pod, grace_s=grace_s, dry_run=dry_run)

    def delete_pod(self, pod: Pod, *, grace_s: int) -> None:
        if not self._is_another("a deleted pod"):
            self._cluster.delete_pod(pod, grace_s=grace_s)

    def delete_node(self, name: str, uid: str) -> None:
        if not self._is_another("a deleted node"):
            self._cluster.delete_node(name, uid)

    def cluster_uid(self) -> str:
        return self._untrue.another or self._cluster.uid

    def nodes(self) -> Sequence[KubeNode]:
        if self._untrue.another or self._untrue.empty:
            return []
        return [each for each in self._cluster.nodes() if each.metadata.name not in self._untrue.nodes]

    def pods(self, node_name: str | None = None) -> Sequence[Pod]:
        return [] if self._untrue.another or self._untrue.empty else self._cluster.pods(node_name)


class SeenCloud:
    """The machines as they are shown."""

    def __init__(self, cloud: SimCloud, untrue: Untrue) -> None:
        self._cloud, self._untrue = cloud, untrue

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cloud, name)

    def instances(self, lag_s: float | None = None) -> Sequence[Instance]:
        untrue = self._untrue
        shown = [each for each in self._cloud.instances(lag_s) if each.instance_id not in untrue.machines]
        shown = [
            replace(each, action_id="1-someone-else") if each.instance_id in untrue.retagged else each
            for each in shown
        ]
        return shown + [
            replace(self._cloud.machines[i].listed, action_id="1-forged", token="not-ours")
            for i in sorted(untrue.forged)
        ]
