"""The autoscaler's ports behind a gate: what the shipped shell is given in the simulated world."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from holdfast.autoscaler.ports import Inbox, Load, Metrics
from holdfast.autoscaler.record import Launch
from holdfast.autoscaler.settings import Pool
from holdfast.cloud import Instance, MachineType, Notice, Offering, Prices, Shape
from holdfast.cloud.announcements import Announcement
from holdfast.cloud.kubernetes import Budget, Evicted, KubeNode, Namespace, Pod
from holdfast.cloud.launches import Launched, Refused, Template, Termination
from holdfast.cloud.volumes import VolumeLists
from holdfast.kernel import Busy, Unknown
from holdfast.sim.ec2.cloud import SimCloud
from holdfast.sim.gate import Gate, Kind
from holdfast.sim.kubernetes.cluster import SimKubernetes

T = TypeVar("T")
LAG_MAX_S = 300.0
"""How far a stale listing may lag behind; removed machines are remembered for longer."""


class GatedCloud:
    def __init__(self, cloud: SimCloud, gate: Gate) -> None:
        self._cloud, self._gate = cloud, gate
        self.looked_s = 0.0
        """When the machines were last listed."""

    def instances(self) -> Sequence[Instance]:
        return self._gate.call("list instances", Kind.LOOK, self._listed, lambda: self._listed(LAG_MAX_S))

    def _listed(self, lag_s: float | None = None) -> Sequence[Instance]:
        self.looked_s = self._cloud.world.now
        return self._cloud.instances(lag_s)

    def launch(self, action_id: str, launch: Launch) -> Launched | Refused:
        name = f"launch {launch.count} {launch.offering}"
        return self._gate.call(name, Kind.CHANGE, lambda: self._cloud.launch(action_id, launch))

    def terminate(self, instance_ids: Sequence[str]) -> Mapping[str, Termination]:
        name = f"terminate {' '.join(instance_ids)}"
        return self._gate.call(name, Kind.CHANGE, lambda: self._cloud.terminate(instance_ids))

    def templates(self, pools: Sequence[Pool]) -> Mapping[str, Template]:
        return self._gate.call("list templates", Kind.READ, lambda: self._cloud.templates(pools))

    def digest(self, pool: Pool) -> str:
        return self._cloud.digest(pool)

    def prepare(self, pool: Pool) -> None:
        self._gate.call(f"prepare template of {pool.name}", Kind.CHANGE, lambda: self._cloud.prepare(pool))

    def subnets(self, subnet_ids: Sequence[str]) -> Mapping[str, str]:
        return self._cloud.subnets(subnet_ids)  # it never changes, so every process remembers it

    def shapes(self, instance_types: Sequence[str]) -> Mapping[str, Shape]:
        return self._cloud.shapes(instance_types)

    def types(self) -> Sequence[MachineType]:
        return self._gate.call("list types", Kind.READ, self._cloud.types)

    def prices(self, offerings: Sequence[Offering]) -> Prices:
        return self._gate.call("list prices", Kind.READ, lambda: self._cloud.prices(offerings))

    def marked(self) -> Sequence[Notice]:
        if not self._cloud.manners.marks_requests:
            return ()
        return self._gate.call("list spot requests", Kind.READ, self._cloud.marked)

    def console(self, instance_id: str) -> str:
        return self._gate.call("read console", Kind.READ, lambda: self._cloud.console(instance_id))


class Straight:
    """A gate that lets everything through at once: for screens that only watch."""

    def call(self, name: str, kind: Kind, run: Callable[[], T], stale: Callable[[], T] | None = None) -> T:
        return run()


class Watching(GatedCloud):
    """The cloud as it is, without asking it: watching counts against no rate limit."""

    def __init__(self, cloud: SimCloud) -> None:
        super().__init__(cloud, Straight())

    def instances(self) -> Sequence[Instance]:
        return self._cloud.listing()


class GatedKubernetes:
    def __init__(self, cluster: SimKubernetes, gate: Gate) -> None:
        self._cluster, self._gate = cluster, gate
        self._elsewhere = cluster.elsewhere
        """A process reads its kubeconfig once."""

    def cluster_uid(self) -> str:
        return self._gate.call(
            "read namespace", Kind.READ, lambda: self._elsewhere or self._cluster.cluster_uid()
        )

    def nodes(self) -> Sequence[KubeNode]:
        return self._gate.call(
            "list nodes", Kind.READ, lambda: [] if self._elsewhere else self._cluster.nodes()
        )

    def pods(self, node_name: str | None = None) -> Sequence[Pod]:
        return self._gate.call(
            "list pods", Kind.READ, lambda: [] if self._elsewhere else self._cluster.pods(node_name)
        )

    def namespaces(self) -> Sequence[Namespace]:
        return self._gate.call("list namespaces", Kind.READ, self._cluster.namespaces)

    def volumes(self) -> VolumeLists:
        return self._gate.call("list volumes", Kind.READ, self._cluster.volumes)

    def budgets(self) -> Sequence[Budget]:
        return self._gate.call("list budgets", Kind.READ, self._cluster.budgets)

    def node(self, name: str) -> KubeNode | None:
        return self._gate.call(
            "read node", Kind.READ, lambda: None if self._elsewhere else self._cluster.node(name)
        )

    def change_node(self, node: KubeNode, changed: KubeNode) -> KubeNode:
        name = f"change node {node.metadata.name}"
        return self._gate.call(name, Kind.CHANGE, lambda: self._cluster.change_node(node, changed))

    def evict(self, pod: Pod, *, grace_s: int | None = None, dry_run: bool = False) -> Evicted:
        name = f"{'would evict' if dry_run else 'evict'} {pod.metadata.name}"
        return self._gate.call(
            name,
            Kind.READ if dry_run else Kind.CHANGE,
            lambda: self._cluster.evict(pod, grace_s=grace_s, dry_run=dry_run),
        )

    def delete_pod(self, pod: Pod, *, grace_s: int) -> None:
        name = f"delete pod {pod.metadata.name}"
        self._gate.call(name, Kind.CHANGE, lambda: self._cluster.delete_pod(pod, grace_s=grace_s))

    def announce(self, announcement: Announcement, at_s: float) -> None:
        """Past the gate: nothing depends on it, so no fault of it is worth a schedule."""
        self._cluster.announce(announcement, at_s)

    def delete_node(self, name: str, uid: str) -> None:
        self._gate.call(f"delete node {name}", Kind.CHANGE, lambda: self._cluster.delete_node(name, uid))


class GatedInbox:
    def __init__(self, inbox: Inbox, gate: Gate) -> None:
        self._inbox, self._gate = inbox, gate

    def put(self, notices: Sequence[Notice]) -> None:
        self._gate.call("keep notices", Kind.CHANGE, lambda: self._inbox.put(notices))

    def waiting(self) -> Sequence[Notice]:
        return self._gate.call("read notices", Kind.READ, self._inbox.waiting)

    def forget(self, keys: Sequence[str]) -> None:
        self._gate.call("forget notices", Kind.CHANGE, lambda: self._inbox.forget(keys))


class GatedMetrics:
    def __init__(self, metrics: Metrics, gate: Gate) -> None:
        self._metrics, self._gate = metrics, gate

    def load(self, nodes: Sequence[KubeNode], pods: Sequence[Pod], window_s: int) -> Load:
        try:
            return self._gate.call("measure", Kind.READ, lambda: self._metrics.load(nodes, pods, window_s))
        except (Busy, Unknown) as error:
            return Load(None, problem=str(error), source="simulated")
