"""What the simulated cluster does by itself: owners bring pods back, the scheduler places them.

Each part is as small as its effect on drains and scale-ups allows.
"""

from collections.abc import Callable, Iterable

from holdfast.cloud.kubernetes import (
    Budget,
    BudgetSpec,
    BudgetStatus,
    Condition,
    KubeNode,
    LabelSelector,
    Meta,
    PodStatus,
)
from holdfast.sim.kubernetes.pods import (
    CLAIM,
    RUNNING,
    STARTING,
    BudgetRule,
    Owned,
    SimNode,
    SimPod,
    Workload,
    timestamp,
)
from holdfast.sim.world import World


class Observer:
    """Hears what is done to the cluster; a judge overrides what it wants to hear."""

    def placed(self, pod: SimPod, node: SimNode) -> None: ...

    def evicted(self, pod: SimPod) -> None: ...

    def changed(self, node: SimNode, before: KubeNode) -> None: ...

    def deleted(self, node: SimNode) -> None: ...


class Controllers:
    """Pods, their owners, their budgets, and where they are placed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.observer = Observer()
        self.by_name: dict[str, SimNode] = {}
        self.workloads: dict[str, Workload] = {}
        self.rules: list[BudgetRule] = []
        self.everything: dict[str, SimPod] = {}
        """Every pod, by UID."""
        self.waiting: dict[str, SimPod] = {}
        """Pods that no node has yet, by UID, in the order they came."""
        self.volume_zones: dict[str, str] = {}
        """Where the volume of each claim is, by the claim's name."""
        self.left_queue: Callable[[SimPod], None] = lambda pod: None
        """Hears of each pod that waits no longer: it has a node, or is gone."""
        self._drawn = 0
        self._awake = False

    def deploy(self, workload: Workload) -> Workload:
        self.workloads[workload.name] = workload
        self._reconcile(workload)
        return workload

    def scale(self, workload: Workload, replicas: int) -> None:
        workload.replicas = replicas
        self._reconcile(workload)

    def withdraw(self, workload: Workload) -> None:
        """It is not wanted any more: all its pods end."""
        workload.replicas = 0
        del self.workloads[workload.name]
        for pod in tuple(workload.pods.values()):
            self._leave(pod, workload.grace_s)

    def pods_of(self, workloads: Iterable[Workload]) -> list[SimPod]:
        return [pod for workload in workloads for pod in workload.pods.values()]

    def _reconcile(self, workload: Workload) -> None:
        """Bring the pods to what their owner wants."""
        if workload.kind is Owned.DAEMON_SET:
            for node in self.by_name.values():
                self._equip(node, workload)
            return
        if workload.kind is Owned.STATEFUL_SET:
            wanted = [f"{workload.name}-{n}" for n in range(workload.replicas)]
            surplus = [p for name, p in workload.pods.items() if name not in wanted and not p.deleting_s]
            missing = [name for name in wanted if name not in workload.pods]
        else:
            active = [pod for pod in workload.pods.values() if not pod.deleting_s]
            surplus = []
            if len(active) > workload.replicas:
                active.sort(key=lambda pod: pod.node is not None)  # those that wait go first
                surplus = active[: len(active) - workload.replicas]
            missing = [self._draw(workload.name) for _ in range(workload.replicas - len(active))]
        for pod in surplus:
            self._leave(pod, workload.grace_s)
        for name in missing:
            self._create(workload, name)

    def _create(self, workload: Workload, name: str, node: SimNode | None = None) -> None:
        pod = SimPod(workload, name, self._draw("p"), self.world.now)
        workload.pods[name] = self.everything[pod.uid] = pod
        if node is None:
            self.waiting[pod.uid] = pod
            self._wake()
        else:
            self._place(pod, node)

    def _equip(self, node: SimNode, workload: Workload) -> None:
        name = f"{workload.name}-{node.name}"
        if name not in workload.pods:
            self._create(workload, name, node)

    def _end(self, pod: SimPod, grace_s: float) -> None:
        """A graceful end; the owner of a deployment replaces it at once."""
        self._leave(pod, grace_s)
        if pod.workload.kind is Owned.DEPLOYMENT:
            self._reconcile(pod.workload)

    def _leave(self, pod: SimPod, grace_s: float) -> None:
        """Again with a shorter grace is sooner."""
        if pod.node is None:
            self._forget(pod)
            return
        self.world.after(self.world.random.uniform(0.2, 1.0) * max(1.0, grace_s), self._ended, pod)
        if not pod.deleting_s:
            pod.deleting_s = self.world.now
            pod.changed()

    def _ended(self, pod: SimPod) -> None:
        if pod.uid in self.everything and pod.node is not None and pod.node.reachable:
            self._remove(pod)

    def _remove(self, pod: SimPod) -> None:
        self._forget(pod)
        if pod.workload.kind in (Owned.DEPLOYMENT, Owned.STATEFUL_SET):
            self._reconcile(pod.workload)

    def _forget(self, pod: SimPod) -> None:
        del self.everything[pod.uid]
        self._leave_queue(pod)
        if pod.workload.pods.get(pod.name) is pod:
            del pod.workload.pods[pod.name]
        if pod.node is not None:
            pod.node.drop(pod)
            self._wake()

    # Placing

    def _wake(self) -> None:
        if self.waiting and not self._awake:
            self._awake = True
            self.world.after(0.5, self._schedule)

    def _schedule(self) -> None:
        """First fit.  In one pass room only gets less: a pod looks on from where its kind last ended."""
        self._awake = False
        nodes = [node for node in self.by_name.values() if node.ready and not node.cordoned]
        looked: dict[Workload, int] = {}
        for pod in tuple(self.waiting.values()):
            n = 0 if pod.workload.claims else looked.get(pod.workload, 0)
            while n < len(nodes) and not (nodes[n].takes(pod.workload) and self._reaches(pod, nodes[n])):
                n += 1
            looked[pod.workload] = n
            if n < len(nodes):
                self._place(pod, nodes[n])
            elif not pod.status.conditions:
                pod.status = _unschedulable(self.world.now, len(self.by_name), pod.workload)
                pod.changed()

    def _reaches(self, pod: SimPod, node: SimNode) -> bool:
        """Whether the pod's volume can be had there."""
        return (
            not pod.workload.claims or self.volume_zones.get(CLAIM.format(pod.name), node.zone) == node.zone
        )

    def _place(self, pod: SimPod, node: SimNode) -> None:
        self._leave_queue(pod)
        if pod.workload.claims:
            self.volume_zones.setdefault(CLAIM.format(pod.name), node.zone)
        pod.node, pod.status = node, STARTING
        node.put(pod)
        pod.changed()
        self.observer.placed(pod, node)
        self.world.after(self.world.random.uniform(1, 10), self._started, pod)

    def _leave_queue(self, pod: SimPod) -> None:
        if self.waiting.pop(pod.uid, None) is not None:
            self.left_queue(pod)

    def _started(self, pod: SimPod) -> None:
        if pod.uid in self.everything and pod.node is not None and pod.node.reachable:
            pod.ready, pod.status = True, RUNNING
            pod.changed()

    # Budgets

    def _selected(self, rule: BudgetRule) -> list[SimPod]:
        return self.pods_of(w for w in self.workloads.values() if covers(rule, w))

    def _wanted(self, rule: BudgetRule) -> int:
        """How many pods must be healthy."""
        expected = sum(w.replicas for w in self.workloads.values() if covers(rule, w))
        if rule.min_available is not None:
            return rule.min_available
        return max(0, expected - (rule.max_unavailable or 0))

    def _allowed(self, rule: BudgetRule) -> int:
        healthy = sum(pod.healthy for pod in self._selected(rule))
        return max(0, healthy - self._wanted(rule))

    def _budget(self, rule: BudgetRule) -> Budget:
        return Budget(
            metadata=Meta(name=rule.name, namespace=rule.namespace),
            spec=BudgetSpec(selector=LabelSelector(match_labels={"app": rule.app})),
            status=BudgetStatus(
                disruptions_allowed=self._allowed(rule),
                current_healthy=sum(pod.healthy for pod in self._selected(rule)),
                desired_healthy=self._wanted(rule),
            ),
        )

    def _draw(self, prefix: str) -> str:
        self._drawn += 1
        return f"{prefix}-{self._drawn:x}"


def covers(rule: BudgetRule, workload: Workload) -> bool:
    return rule.app == workload.name and rule.namespace == workload.namespace


def _unschedulable(now_s: float, nodes: int, workload: Workload) -> PodStatus:
    why = f": {workload.scheduler_says}" if workload.scheduler_says else ""
    condition = Condition(
        type="PodScheduled",
        status="False",
        reason="Unschedulable",
        message=f"0/{nodes} nodes are available{why}",
        last_transition_time=timestamp(now_s),
    )
    return PodStatus(phase="Pending", conditions=(condition,))
