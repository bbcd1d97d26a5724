"""What of the truth a listing shows: as far as a judge may hold the autoscaler to it."""

from collections.abc import Callable

from holdfast.cloud.kubernetes import JOINING_TAINT
from holdfast.sim.ec2.cloud import SimCloud
from holdfast.sim.ec2.machine import Machine
from holdfast.sim.kubernetes.cluster import SimKubernetes
from holdfast.sim.kubernetes.pods import SimNode


class Shown:
    def __init__(self, cloud: SimCloud, cluster: SimKubernetes) -> None:
        self._cloud, self._cluster = cloud, cluster
        self.hidden: set[str] = set()
        """Nodes and machines that no listing shows, or that one did not show lately."""
        self.retagged: set[str] = set()
        """Machines that are listed with another's action, as if they were not ours to end."""
        self.blind: Callable[[], bool] = lambda: False
        """Whether no node at all is shown, or was lately."""

    def serves(self, machine: Machine) -> bool:
        """It has, or had when it died, a node that takes pods."""
        node = self._node(machine)
        if node is None:
            return not machine.alive and machine.served
        return not any(taint.key == JOINING_TAINT for taint in node.taints)

    def is_heard(self, machine: Machine) -> bool:
        """Its node is not called NotReady, nor is it absent: else no floor can count on it."""
        node = self._node(machine)
        return node is None or (node.ready and not self.is_absent(node))

    def is_absent(self, node: SimNode) -> bool:
        """No listing shows it, and no pod names it: as if it had been deleted.

        Where pods are listed on it, it must be somewhere.
        """
        return node.name in self.hidden and all(pod.deleting_s for pod in node.pods.values())

    def is_unlisted(self, machine: Machine) -> bool:
        """No listing shows it, nor a node of it that reports: as if it had ended."""
        node = self._node(machine)
        reports = node is not None and node.ready and node.name not in self.hidden
        return machine.instance_id in self.hidden and (self.blind() or not reports)

    def is_disowned(self, machine: Machine) -> bool:
        """No listing shows it as ours, so nothing may be done to it: neither adopted nor ended."""
        return machine.instance_id in self.retagged or machine.instance_id in self.hidden

    def _node(self, machine: Machine) -> SimNode | None:
        node = self._cluster.by_name.get(machine.address)
        return node if node is not None and node.machine is machine else None
