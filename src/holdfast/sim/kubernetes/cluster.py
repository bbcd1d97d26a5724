"""The simulated cluster: its API, and the machines that join it and fall silent."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from holdfast.autoscaler.settings import Pool
from holdfast.cloud.announcements import Announcement
from holdfast.cloud.kubernetes import (
    INSTANCE_LABEL,
    JOINING_TAINT,
    POOL_LABEL,
    Budget,
    Evicted,
    Eviction,
    KubeNode,
    Meta,
    Namespace,
    Pod,
    Taint,
)
from holdfast.cloud.volumes import VolumeLists
from holdfast.kernel import Conflict
from holdfast.sim.ec2.machine import Machine
from holdfast.sim.ec2.market import SHAPES
from holdfast.sim.kubernetes.controllers import Controllers, covers
from holdfast.sim.kubernetes.pods import Owned, SimNode
from holdfast.sim.kubernetes.volumes import volume_lists
from holdfast.sim.world import World

SILENT_S: Final = 40.0
"""From a kubelet's last word until its node is called NotReady."""
GIVEN_UP_S: Final = 300.0
"""From then until the pods of a silent node are given up."""
JOINS_AGAIN_S: Final = 20.0
"""A machine whose name is still taken by a dead node tries again after this."""


class SimKubernetes(Controllers):
    """A `Kubernetes` for the autoscaler, and the hand of fate for the scenario."""

    def __init__(self, world: World, pools: Iterable[Pool] = ()) -> None:
        super().__init__(world)
        self.uid = f"cluster-{world.seed}"
        self.elsewhere = ""
        """The identity of another cluster that processes which start now reach: it has none of our nodes."""
        self.nameless = False
        """New nodes do not say which machine they are on, and take pods at once: an own launch template that
        starts a plain k3s agent."""
        self._pools = {pool.name: pool for pool in pools}
        self.announced: list[Announcement] = []

    # The port

    def cluster_uid(self) -> str:
        return self.uid

    def nodes(self) -> Sequence[KubeNode]:
        return [node.value() for node in self.by_name.values()]

    def pods(self, node_name: str | None = None) -> Sequence[Pod]:
        if node_name is None:
            return [pod.value() for pod in self.everything.values()]
        node = self.by_name.get(node_name)
        return [pod.value() for pod in node.pods.values()] if node else []

    def namespaces(self) -> Sequence[Namespace]:
        names = sorted({pod.workload.namespace for pod in self.everything.values()})
        return [Namespace(metadata=Meta(name=name)) for name in names]

    def budgets(self) -> Sequence[Budget]:
        return [self._budget(rule) for rule in self.rules]

    def volumes(self) -> VolumeLists:
        return volume_lists(self.everything.values(), self.volume_zones)

    def node(self, name: str) -> KubeNode | None:
        node = self.by_name.get(name)
        return node.value() if node else None

    def change_node(self, node: KubeNode, changed: KubeNode) -> KubeNode:
        here = self.by_name.get(node.metadata.name)
        if here is None or here.uid != node.metadata.uid:
            raise Conflict(f"node {node.metadata.name} is not there any more")
        if str(here.version) != node.metadata.resource_version:
            raise Conflict(f"node {here.name} has been modified")
        before = here.value()
        here.cordoned, here.taints = changed.spec.unschedulable, changed.spec.taints
        here.annotations = dict(changed.metadata.annotations)
        self._touch(here)
        self.observer.changed(here, before)
        self._wake()
        return here.value()

    def evict(self, pod: Pod, *, grace_s: int | None = None, dry_run: bool = False) -> Evicted:
        here = self.everything.get(pod.metadata.uid)
        if here is None:
            return Evicted(Eviction.GONE)
        if not here.deleting_s and here.node is not None:
            rules = [rule for rule in self.rules if covers(rule, here.workload)]
            if len(rules) > 1:
                return Evicted(Eviction.IMPOSSIBLE, "This pod has more than one PodDisruptionBudget")
            if rules and self._allowed(rules[0]) < 1:
                return Evicted(Eviction.REFUSED, f"The disruption budget {rules[0].name} does not allow it")
        if not dry_run:
            self.observer.evicted(here)
            self._end(here, here.workload.grace_s if grace_s is None else grace_s)
        return Evicted(Eviction.ACCEPTED)

    def delete_pod(self, pod: Pod, *, grace_s: int) -> None:
        here = self.everything.get(pod.metadata.uid)
        if here is not None:
            self.observer.evicted(here)
            self._end(here, grace_s)

    def announce(self, announcement: Announcement, at_s: float) -> None:
        self.announced.append(announcement)

    def delete_node(self, name: str, uid: str) -> None:
        node = self.by_name.get(name)
        if node is None or node.uid != uid:
            return
        self.observer.deleted(node)
        self.remove_node(node)

    def remove_node(self, node: SimNode) -> None:
        """The object is gone, and its pods with it."""
        del self.by_name[node.name]
        for pod in tuple(node.pods.values()):
            self._remove(pod)

    # Machines

    def join(self, machine: Machine) -> None:
        """The machine's kubelet registers, unless its name is still taken."""
        if not machine.alive:
            return
        if machine.address in self.by_name:
            self.world.after(JOINS_AGAIN_S, self.join, machine)
            return
        shape, where = SHAPES[machine.offering.instance_type], machine.offering
        provider_id, labels, taints = self._called(machine)
        node = self.add_node(
            machine.address,
            zone=where.zone,
            machine=machine,
            provider_id=provider_id,
            labels=labels,
            cpu_m=shape.cpu_m - 100,  # the system keeps a little for itself
            memory=shape.memory - (400 << 20),
            pods_max=shape.pods,
            taints=taints,
        )
        self.world.after(self.world.random.uniform(3, 15), self._ready, node)

    def _called(self, machine: Machine) -> tuple[str, dict[str, str], tuple[Taint, ...]]:
        """What its kubelet says of itself: provider id, labels and taints."""
        if self.nameless:
            return f"k3s://{machine.address}", {}, ()
        pool = self._pools.get(machine.pool, Pool())
        labels = {INSTANCE_LABEL: machine.instance_id, POOL_LABEL: machine.pool, **pool.labels}
        provider_id = f"aws:///{machine.offering.zone}/{machine.instance_id}"
        return provider_id, labels, (*pool.taints, Taint(key=JOINING_TAINT))

    def add_node(
        self,
        name: str,
        *,
        zone: str,
        cpu_m: int = 1_900,
        memory: int = 3_600 << 20,
        pods_max: int = 17,
        machine: Machine | None = None,
        provider_id: str = "",
        labels: Mapping[str, str] | None = None,
        taints: tuple[Taint, ...] = (),
        ready: bool = False,
    ) -> SimNode:
        node = SimNode(
            name=name,
            uid=self._draw("n"),
            zone=zone,
            machine=machine,
            provider_id=provider_id,
            labels={
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "topology.kubernetes.io/zone": zone,
                **(labels or {}),
            },
            cpu_m=cpu_m,
            memory=memory,
            pods_max=pods_max,
            created_s=self.world.now,
            taints=taints,
        )
        self.by_name[name] = node
        self._touch(node)
        if ready:
            self._ready(node)
        return node

    def stop(self, machine: Machine) -> None:
        """The machine is dead: its kubelet falls silent, and its pods with it."""
        node = self.by_name.get(machine.address)
        if node is not None and node.machine is machine:
            self._silence(node)

    def hiccup(self, node: SimNode, for_s: float) -> None:
        """The kubelet is not heard for a while, though the machine lives."""
        self._silence(node)
        self.world.after(for_s, self._ready, node)

    def hang(self, node: SimNode) -> None:
        """The kubelet is not heard any more, and its machine runs on."""
        self._silence(node)

    def cordon_by_hand(self, node: SimNode, cordoned: bool) -> None:
        node.cordoned = cordoned
        self._touch(node)
        self._wake()

    # Nodes

    def _ready(self, node: SimNode) -> None:
        if self.by_name.get(node.name) is not node or (node.machine and not node.machine.alive):
            return
        node.ready = node.reachable = True
        self._touch(node)
        for workload in self.workloads.values():
            if workload.kind is Owned.DAEMON_SET:
                self._equip(node, workload)
        for pod in tuple(node.pods.values()):
            self.world.after(1.0, self._ended if pod.deleting_s else self._started, pod)
        self._wake()

    def _silence(self, node: SimNode) -> None:
        node.reachable = False
        self.world.after(SILENT_S, self._not_ready, node)
        self.world.after(SILENT_S + GIVEN_UP_S, self._give_up, node)

    def _not_ready(self, node: SimNode) -> None:
        if not node.reachable:
            node.ready = False
            self._touch(node)

    def _give_up(self, node: SimNode) -> None:
        if not node.reachable and self.by_name.get(node.name) is node:
            for pod in tuple(node.pods.values()):
                if pod.workload.kind is not Owned.DAEMON_SET:
                    self._end(pod, pod.workload.grace_s)

    def _touch(self, node: SimNode) -> None:
        self._drawn += 1
        node.changed(self._drawn)
