"""Load on the simulated cluster: workloads that swing, things that block a drain, and how busy it is."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from holdfast.autoscaler.ports import Load
from holdfast.cloud.kubernetes import KubeNode, Pod
from holdfast.sim.kubernetes.cluster import SimKubernetes
from holdfast.sim.kubernetes.pods import BudgetRule, Owned, SimNode, Workload
from holdfast.sim.world import World

SAMPLE_S: Final = 60.0
HISTORY_S: Final = 3_600.0

BLOCKERS: Final = (
    Workload(name="by-hand", kind=Owned.BARE, cpu_m=100),
    Workload(name="agent", kind=Owned.BARE, cpu_m=100, priority_class="system-node-critical"),
    Workload(name="gateway", cpu_m=100, priority_class="system-cluster-critical"),
    Workload(name="scratch", cpu_m=100, local_storage=True),
    Workload(name="stay", cpu_m=100, do_not_evict=True),
    Workload(name="giant", cpu_m=64_000),
)


class Demand:
    """What people run, and how it changes."""

    def __init__(self, world: World, cluster: SimKubernetes, *, most: int) -> None:
        self.world, self.cluster, self.most = world, cluster, most
        """At most so many pods of the size that three fit a small machine."""
        self.web = Workload(name="web", cpu_m=550, replicas=3)
        self.batch = Workload(name="batch", cpu_m=550, replicas=1, grace_s=90, busy=0.9)
        self.store = Workload(name="store", kind=Owned.STATEFUL_SET, cpu_m=300, replicas=2, grace_s=60)
        self.blockers: list[Workload] = []

    def begin(self) -> None:
        deploy, rules = self.cluster.deploy, self.cluster.rules
        deploy(Workload(name="logs", kind=Owned.DAEMON_SET, namespace="kube-system", cpu_m=50))
        deploy(Workload(name="dns", namespace="kube-system", cpu_m=100))
        for workload in (self.web, self.batch, self.store):
            deploy(workload)
        rules.append(BudgetRule("web-most-stay", "web", max_unavailable=1))
        rules.append(BudgetRule("store-one-stays", "store", min_available=1))

    def change(self) -> None:
        """The load takes another level: mostly a little up or down, sometimes quite another."""
        random = self.world.random
        for workload, share in ((self.web, 0.7), (self.batch, 0.3)):
            most = self.most * share
            level = workload.replicas + random.randint(-4, 4)
            if random.random() < 0.25:
                level = round(random.random() * most)
            workload.busy = random.uniform(0.1, 1.0)
            self.cluster.scale(workload, int(min(most, max(1, level))))

    def burst(self, pods: int) -> None:
        """So many more at once."""
        self.cluster.scale(self.web, min(self.most, self.web.replicas + pods))

    def block(self) -> None:
        """Something that must stay, or fits nowhere, turns up for a while."""
        self.unblock()
        made = self.world.random.choice(BLOCKERS)
        workload = replace(made, name=f"{made.name}-{int(self.world.now)}", pods={})
        self.blockers.append(self.cluster.deploy(workload))
        if made.name == "stay":
            for n in range(2):
                self.cluster.rules.append(BudgetRule(f"two-{n}", workload.name, min_available=0))

    def unblock(self) -> None:
        for workload in self.blockers:
            self.cluster.withdraw(workload)
            self.cluster.rules[:] = [rule for rule in self.cluster.rules if rule.app != workload.name]
        self.blockers.clear()


class SimMetrics:
    """How busy the workers are, with an hour of history."""

    def __init__(self, world: World, cluster: SimKubernetes) -> None:
        self.world, self.cluster = world, cluster
        self.problem = ""
        """Why the load is not known at the moment; empty: all is well."""
        self._history: deque[tuple[float, float]] = deque(maxlen=int(HISTORY_S / SAMPLE_S))

    def begin(self) -> None:
        self.world.every(SAMPLE_S, self._sample)

    def load(self, nodes: Sequence[KubeNode], pods: Sequence[Pod], window_s: int) -> Load:
        if self.problem:
            return Load(None, problem=self.problem, source="simulated")
        here = [self.cluster.by_name.get(node.metadata.name) for node in nodes]
        cpu = _busy([node for node in here if node is not None])
        if cpu is None:
            return Load(None, problem="no worker is measured", source="simulated")
        since_s = self.world.now - window_s
        peak = max((then for at_s, then in self._history if at_s >= since_s), default=cpu)
        return Load(cpu, peak=max(peak, cpu), source="simulated")

    def _sample(self) -> None:
        cpu = _busy([node for node in self.cluster.by_name.values() if node.machine is not None])
        if cpu is not None:
            self._history.append((self.world.now, cpu))


def _busy(nodes: Sequence[SimNode]) -> float | None:
    there = sum(node.cpu_m for node in nodes if node.ready)
    if not there:
        return None
    used = sum(
        pod.workload.cpu_m * pod.workload.busy
        for node in nodes
        if node.ready
        for pod in node.pods.values()
        if pod.ready
    )
    return used / there
