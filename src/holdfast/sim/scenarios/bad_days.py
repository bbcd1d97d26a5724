"""A fleet on its bad days: what the cloud and the cluster really do, for hours at a time.

Spot runs dry by type and zone, quotas are cut by family, subnets fill up, rebalance hints come in waves,
kubelets hang, pods turn up that can never run, one pool is broken beside good ones, another cluster answers
behind the kubeconfig, machines are protected; and listings lie: see `lying`.  Several may befall it at once.
Some capacity can always be had somewhere.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.tick import Autoscaler
from holdfast.cloud import Market, Offering
from holdfast.cloud.kubernetes import Taint
from holdfast.sim.kubernetes.pods import Workload
from holdfast.sim.memory import MemoryItems
from holdfast.sim.scenarios import scaling
from holdfast.sim.scenarios.bad_days_judge import BadDaysJudge
from holdfast.sim.scenarios.lying import Lying
from holdfast.sim.scenarios.scaling import SUBNETS, Scaling
from holdfast.sim.world import World

HOUR_S: Final = 3_600.0
TYPES: Final = ("t3.medium", "t3a.medium", "m5.large", "m5a.large", "m6i.large", "c5.large")
LASTS_S: Final = (0.5 * HOUR_S, 8 * HOUR_S)
EVERY_S: Final = HOUR_S
"""Between two things that go wrong."""
HINTS_S: Final = 1_200.0
"""Between two waves of hints."""
GPU: Final = {"size": "gpu"}
SETTINGS: Final = replace(
    scaling.SETTINGS,
    max_workers=8,
    usd_per_hour_max=2.5,
    pools=(
        Pool(instance_types=TYPES, subnet_ids=tuple(SUBNETS)),
        Pool(
            name="gpu",
            instance_types=("g4dn.xlarge",),
            subnet_ids=tuple(SUBNETS),
            labels=GPU,
            taints=(Taint(key="size", value="gpu"),),
            max_workers=2,
        ),
        Pool(name="spare", instance_types=("m5.xlarge",), subnet_ids=("subnet-a", "subnet-b"), max_workers=3),
    ),
)
UNBOUND: Final = "pod has unbound immediate PersistentVolumeClaims"
NEVER_RUN: Final = (
    Workload(name="claim", cpu_m=200, unbound=True, scheduler_says=UNBOUND),
    Workload(
        name="disk",
        cpu_m=200,
        unbound=True,
        in_doubt=True,
        scheduler_says="node(s) did not have enough free storage",
    ),
    Workload(name="alone", cpu_m=100, apart=True, replicas=SETTINGS.max_workers + 2),
    Workload(name="training", cpu_m=1_800, replicas=6, node_selector=GPU, tolerates=frozenset({"size"})),
)
"""Claims that are never bound or find no storage anywhere, more replicas apart than there may be nodes, and a
queue for a small pool."""
BROKEN: Final = (
    "InvalidAMIID.NotFound: the image of pool gpu is not there",
    "UnauthorizedOperation: pool gpu may not pass its instance profile",
)


class BadDays(Scaling):
    name = "scaling on bad days"

    def __init__(
        self,
        world: World,
        store: MemoryItems[Cluster],
        *,
        settings: Settings = SETTINGS,
        autoscaler: Any = Autoscaler,
        tick_s: float = 0.0,
        pace: float = 1.0,
    ) -> None:
        super().__init__(world, store, settings=settings, autoscaler=autoscaler, tick_s=tick_s, pace=pace)
        self.watch = BadDaysJudge(self.cloud, self.cluster, settings, lambda: self.record, self.tick_s)
        self.judge = self.watch
        self.accidents = self.judge.accidents
        self.lying = Lying(self.judge, store, self._foreign)
        self.seen_cluster, self.seen_cloud = self.lying.seen_cluster, self.lying.seen_cloud
        self.befell: dict[str, int] = {}
        """How often each of them came."""
        self._undo: list[Callable[[], None]] = []

    def begin(self) -> None:
        self._first_machines()
        self.lying.begin()
        self.demand.begin()
        self.metrics.begin()
        self.world.every(self.tick_s, self.invoke)
        self.world.every(600, self.judge.patrol)
        for seconds, happening in (
            (900, self.demand.change),
            (7_200, self.strike),
            (9_000, self._hiccup),
            (14_400, self._sudden_death),
            (EVERY_S, self._bad_day),
        ):
            self.world.every(seconds * self.pace, self._unless_calm(happening))

    def calm(self) -> None:
        """The pods that can never run stay: they must keep nothing from healing."""
        for undo in self._undo:
            undo()
        super().calm()
        self.cloud.wares.quota.clear()
        if self.watch.is_braked():  # so many are for a person to mend: the kubelets are started anew
            for node in self.watch.silent():
                self.cluster.hiccup(node, 0)
        self.watch.calmed()

    def _bad_day(self) -> None:
        """One more thing goes wrong, and stays so for hours."""
        happening = self.world.random.choice(
            (
                self._spot_dries,
                self._quota_is_cut,
                self._subnet_fills,
                self._hints_come,
                self._kubelet_hangs,
                self._pods_never_run,
                self._pool_breaks,
                self._another_cluster_answers,
                self._machine_is_protected,
                *self.lying.lies(),
            )
        )
        called = happening.__name__.strip("_")
        self.befell[called] = self.befell.get(called, 0) + 1
        undo = happening()
        if undo is not None:
            self._undo.append(undo)
            lies = called in {lie.__name__ for lie in self.lying.lies()}
            lasts_s = self.lying.lasts_s() if lies else self.world.random.uniform(*LASTS_S)
            if "another_cluster" in called:
                lasts_s = min(lasts_s, HOUR_S / 2)
            self.world.after(lasts_s, undo)

    def _spot_dries(self) -> Callable[[], None]:
        """Everywhere, in a zone, or of a few types; on-demand is there."""
        random = self.world.random
        zones = random.choice((self.cloud.zones, self.cloud.zones, (random.choice(self.cloud.zones),)))
        kinds = [kind for pool in self.settings.pools for kind in pool.instance_types]
        types = random.choice((kinds, kinds, random.sample(kinds, 2)))
        dry = [Offering(zone, Market.SPOT, kind) for zone in zones for kind in types]
        left = self.cloud.wares.left
        left.update(dict.fromkeys(dry, 0))

        def undo() -> None:
            for offering in dry:
                left.pop(offering, None)

        return undo

    def _quota_is_cut(self) -> Callable[[], None]:
        """No more spot than there is, or no GPU at all."""
        name = self.world.random.choice(("spot/standard", "spot/g", "on-demand/g"))
        there = sum(machine.offering.quota == name for machine in self.cloud.alive())
        self.cloud.wares.quota[name] = there

        def undo() -> None:
            self.cloud.wares.quota.pop(name, None)

        return undo

    def _subnet_fills(self) -> Callable[[], None]:
        """One of the three: the pool `spare` has only two of them."""
        subnet = self.world.random.choice(sorted(SUBNETS))
        self.cloud.full_subnets = {subnet}
        return lambda: self.cloud.full_subnets.discard(subnet)

    def _hints_come(self) -> Callable[[], None]:
        """All spot machines of one type, again and again, wherever they are replaced."""
        running = [True]
        kinds = sorted({m.offering.instance_type for m in self.cloud.alive()})
        kind = self.world.random.choice(kinds) if kinds else TYPES[0]

        def wave() -> None:
            if not running[0] or self._calm:
                return
            for machine in self.cloud.alive():
                if machine.offering.market is Market.SPOT and machine.offering.instance_type == kind:
                    self._deliver(self.cloud.hint(machine))
            self.world.after(HINTS_S, wave)

        wave()
        return lambda: running.__setitem__(0, False)

    def _kubelet_hangs(self) -> None:
        nodes = [node for node in self.cluster.by_name.values() if node.machine and node.ready]
        most = self.world.random.choice((1, 1, 2))
        for node in self.world.random.sample(nodes, max(0, min(len(nodes) - 1, most))):
            self.cluster.hang(node)

    def _pods_never_run(self) -> Callable[[], None] | None:
        made = self.world.random.choice(NEVER_RUN)
        if any(name.startswith(made.name) for name in self.cluster.workloads):
            return None
        workload = replace(made, name=f"{made.name}-{int(self.world.now)}", pods={})
        self.watch.never_run.add(workload.name)
        self.cluster.deploy(workload)

        def undo() -> None:
            if not self._calm and workload.name in self.cluster.workloads:
                self.cluster.withdraw(workload)

        return undo

    def _pool_breaks(self) -> Callable[[], None]:
        """Its image or its template: EC2 refuses each launch, or not even a template can be described."""
        if self.world.random.random() < 0.5:
            self.cloud.broken_pools["gpu"] = self.world.random.choice(BROKEN)
        else:
            self.cloud.undescribed["gpu"] = "ami_id of pool gpu is empty: name an image"

        def undo() -> None:
            self.cloud.broken_pools.clear()
            self.cloud.undescribed.clear()

        return undo

    def _another_cluster_answers(self) -> Callable[[], None]:
        """The kubeconfig points elsewhere: another identity, and none of our nodes."""
        self.cluster.elsewhere = f"another-{int(self.world.now)}"
        return lambda: setattr(self.cluster, "elsewhere", "")

    def _machine_is_protected(self) -> Callable[[], None]:
        alive = self.cloud.alive()
        chosen = self.world.random.sample(alive, min(1, len(alive)))
        for machine in chosen:
            machine.protected = True

        def undo() -> None:
            for machine in chosen:
                machine.protected = False

        return undo
