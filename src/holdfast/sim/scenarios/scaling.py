"""The whole autoscaler on a simulated fleet: load comes and goes, machines boot, join, drain and leave.

The shipped shell runs in every invocation; a tick comes every minute, whether the one before has
ended or not.  Notices strike, and arrive twice, late, out of order or never.  Capacity vanishes,
machines never join, people cordon nodes, and things turn up that must not be moved.
"""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.ports import ClusterStore, Inbox
from holdfast.autoscaler.record import Cluster, Status
from holdfast.autoscaler.report.preview import preview
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.tick import Autoscaler
from holdfast.cloud import Market, Notice, NoticeKind, Offering, State
from holdfast.cloud.kubernetes import Taint, cordon_owners
from holdfast.kernel import Logged, Versioned, Write
from holdfast.sim.ec2.cloud import Manners, SimCloud
from holdfast.sim.ec2.machine import Ending, Machine
from holdfast.sim.gate import Gated, Kind
from holdfast.sim.gated import GatedCloud, GatedInbox, GatedKubernetes, GatedMetrics, Watching
from holdfast.sim.inbox import MemoryInbox
from holdfast.sim.kubernetes.cluster import SimKubernetes
from holdfast.sim.kubernetes.load import Demand, SimMetrics
from holdfast.sim.kubernetes.pods import SimNode
from holdfast.sim.scenarios.scaling_judge import PATIENCE_S, PATIENCE_TICKS, Judge
from holdfast.sim.scenarios.scenario import Watched
from holdfast.sim.world import Process, World

SUBNETS = {"subnet-a": "a", "subnet-b": "b", "subnet-c": "c"}
TYPES = ("t3.medium", "t3a.medium", "m5.large")
TICKS_S = (60.0, 120.0, 240.0)
"""How often the schedule invokes the shell: every world draws one."""
LAGS_S = (1.0, 5.0, 90.0)
"""How far every listing may lag behind in this world; a stale one lags farther."""
TIMEOUT_S, SPARE_S = 300.0, 20.0
SETTINGS = Settings(
    min_workers=3,
    max_workers=10,
    max_batch_up=3,
    max_batch_down=2,
    pending_up_s=60,
    idle_down_s=300,
    cooldown_up_s=120,
    cooldown_down_s=300,
    usd_per_hour_max=1.2,
    pools=(
        Pool(instance_types=TYPES, subnet_ids=tuple(SUBNETS)),
        Pool(
            name="big",
            instance_types=("m5.xlarge",),
            subnet_ids=tuple(SUBNETS),
            labels={"size": "big"},
            taints=(Taint(key="size", value="big"),),
            max_workers=2,
        ),
    ),
)


class Scaling:
    name = "scaling the fleet"

    def __init__(
        self,
        world: World,
        store: ClusterStore,
        inbox: Inbox | None = None,
        *,
        settings: Settings = SETTINGS,
        autoscaler: Any = Autoscaler,
        tick_s: float = 0.0,
        pace: float = 1.0,
    ) -> None:
        """A greater pace leaves more time between the things that happen."""
        self.world, self.settings, self._autoscaler = world, settings, autoscaler
        self.pace = pace
        self.schedule: Random | None = None
        """When ticks come is drawn from this; None: from what the whole world draws from."""
        self.inbox: Inbox = inbox or MemoryInbox()
        self.tick_s = tick_s or world.random.choice(TICKS_S)
        manners = Manners(
            never_joins=0.04,
            dies_booting=0.03,
            names_dead_tokens=world.random.random() < 0.5,
            lag_s=world.random.choice(LAGS_S),
            addresses=40,
        )
        self.cloud = SimCloud(world, SUBNETS, manners)
        self.cluster = SimKubernetes(world, settings.pools)
        self.seen_cloud, self.seen_cluster = self.cloud, self.cluster
        """What the processes are shown of both."""
        self.metrics = SimMetrics(world, self.cluster)
        self.demand = Demand(world, self.cluster, most=3 * settings.max_workers)
        self.judge = Judge(self.cloud, self.cluster, settings, record=lambda: self.record)
        self.judge.patience_s = max(PATIENCE_S, PATIENCE_TICKS * self.tick_s)
        self.store = Watched(store, self._committed)
        self.accidents = self.judge.accidents
        self.actions = 0
        self.cloud.joins, self.cloud.stops = self.cluster.join, self._stopped
        self._foreign: list[Machine] = []
        self._invocations = 0
        self._calm = False

    @property
    def record(self) -> Cluster:
        return self.store.read(SUBJECT).value

    def begin(self) -> None:
        self.start()
        self.world.every(900, partial(self.cloud.wares.drift, self.cloud.zones))
        for seconds, happening in (
            (600, self.demand.change),
            (1_800, self.demand.block),
            (2_400, self.strike),
            (3_600, self._drought),
            (4_500, self._person),
            (5_400, self._hiccup),
            (7_200, self._sudden_death),
            (7_200, self._no_metrics),
        ):
            self.world.every(seconds * self.pace, self._unless_calm(happening))

    def start(self) -> None:
        """Machines, load and ticks; what befalls them is still to come."""
        self._first_machines()
        self.demand.begin()
        self.metrics.begin()
        self.world.every(self.tick_s, self.invoke, self.schedule)
        self.world.every(600, self.judge.patrol)

    def calm(self) -> None:
        self._calm = True
        self.demand.unblock()
        self.metrics.problem = ""
        self.cloud.wares.left.clear()
        self.cloud.manners.never_joins = self.cloud.manners.dies_booting = 0.0
        for node in tuple(self.cluster.by_name.values()):
            self._lift_by_hand(node)

    def phase(self) -> str:
        record = self.record
        if record.scale_up is not None:
            return f"scaling: {'intended' if record.scale_up.intended else 'joining'}"
        if record.scale_down is not None:
            for status in (Status.DRAINED, Status.PLANNED, Status.CONDEMNED):
                if record.scale_down.having(status):
                    return f"scaling: {status.value}"
            return "scaling: ending"
        return "scaling: interrupted" if record.interrupted else "scaling: idle"

    def events(self, after: int) -> Sequence[Logged]:
        return self.store.events(SUBJECT, after)

    def snapshot(self) -> Snapshot:
        """What a tick would see now, if nothing failed and nothing lagged."""
        watching = self._autoscaler(
            settings=self.settings,
            store=self.store,
            inbox=self.inbox,
            cloud=Watching(self.cloud),
            kubernetes=self.cluster,
            metrics=self.metrics,
            clock=self.world,
            new_id=self.world.new_id,
            random=lambda: 0.5,
        )
        seen: Snapshot = watching.snapshot("you", self.record)
        return seen

    def next_step(self) -> str:
        previewed = preview(self.record, self.snapshot(), self.settings, self.world.now)
        more = f" and {len(previewed.steps) - 3} more" if len(previewed.steps) > 3 else ""
        return "; ".join(previewed.steps[:3]) + more or "nothing to do"

    def unhealed(self) -> Sequence[str]:
        return self.judge.unhealed()

    # Invocations

    def invoke(self, *notices: Notice) -> Process:
        """Start the shipped shell, as the schedule or a notice does."""
        self._invocations += 1
        name = f"tick-{self._invocations}"
        return self.world.spawn(
            name, partial(self._work, name, notices), phase=self.phase, timeout_s=TIMEOUT_S
        )

    def _work(self, name: str, notices: Sequence[Notice], process: Process) -> None:
        cloud = GatedCloud(self.seen_cloud, process)
        shell = self._autoscaler(
            settings=self.settings,
            store=_Signed(self.store, process, cloud, self.judge),
            inbox=GatedInbox(self.inbox, process),
            cloud=cloud,
            kubernetes=GatedKubernetes(self.seen_cluster, process),
            metrics=GatedMetrics(self.metrics, process),
            clock=process,
            new_id=self.world.new_id,
            random=self.world.random.random,
            together=process.together,
        )
        result = shell.tick(name, until_s=process.deadline_s - SPARE_S, notices=tuple(notices))
        self.judge.tick_ended(result.outcome, result.why)

    def _committed(
        self, before: Versioned[Cluster], after: Versioned[Cluster], write: Write[Cluster]
    ) -> None:
        self.judge.committed(before, after, write)
        self.actions = self.judge.actions

    # The world

    def _first_machines(self) -> None:
        """A control plane, a node without a machine of ours, workers made by hand, and foreign machines."""
        self.cluster.add_node(
            "control-plane",
            zone="a",
            provider_id="aws:///a/i-control",
            labels={"node-role.kubernetes.io/control-plane": "true"},
            taints=(Taint(key="node-role.kubernetes.io/control-plane"),),
            ready=True,
        )
        self.cluster.add_node("edge", zone="office", taints=(Taint(key="edge"),), ready=True)
        for zone in ("a", "b"):
            machine = self.cloud.add(Offering(zone, Market.ON_DEMAND, TYPES[0]), state=State.RUNNING)
            self.cluster.join(machine)
            node = self.cluster.by_name[machine.address]
            node.taints = ()
        for zone in ("a", "c"):
            where = Offering(zone, Market.SPOT, TYPES[0])
            self._foreign.append(self.cloud.add(where, foreign=True, state=State.RUNNING))

    def _unless_calm(self, then: Callable[[], None]) -> Callable[[], None]:
        def act() -> None:
            if not self._calm:
                then()

        return act

    def strike(self) -> None:
        """Spot machines get their notice; some foreign machines do too."""
        random = self.world.random
        spot = [machine for machine in self.cloud.alive() if machine.offering.market is Market.SPOT]
        victims = random.sample(spot, min(len(spot), random.choice((1, 1, 2, 4))))
        for victim in [*victims, *(m for m in self._foreign if random.random() < 0.3)]:
            if random.random() < 0.3:
                self._deliver(self.cloud.hint(victim))
                if random.random() < 0.5:
                    continue
            if not victim.deadline_s:
                self._deliver(self.cloud.notice(victim))

    def _deliver(self, notice: Notice) -> None:
        """Once, twice or never, and not at once."""
        random = self.world.random
        for _ in range(random.choice((0, 1, 1, 1, 1, 1, 2, 3))):
            self.world.after(random.uniform(0.5, 15), self.invoke, notice)

    def _stopped(self, machine: Machine) -> None:
        self.cluster.stop(machine)
        if not self._calm and machine.ended_by is not Ending.ASKED:
            self._deliver(Notice(machine.instance_id, NoticeKind.GONE, int(self.world.now)))

    def _drought(self) -> None:
        random = self.world.random
        self.cloud.wares.left.clear()
        everywhere = [Offering(z, m, t) for z in self.cloud.zones for m in Market for t in TYPES]
        for offering in random.sample(everywhere, random.randrange(len(everywhere))):
            self.cloud.wares.left[offering] = random.choice((0, 0, 1, 2))

    def _person(self) -> None:
        """An operator cordons a node by hand, and later lifts that again."""
        nodes = [node for node in self.cluster.by_name.values() if node.machine is not None and node.ready]
        for node in nodes:
            self._lift_by_hand(node)
        open_nodes = [node for node in nodes if not node.cordoned]
        if open_nodes:
            node = self.world.random.choice(open_nodes)
            self.judge.by_hand.add(node.name)
            self.cluster.cordon_by_hand(node, True)

    def _lift_by_hand(self, node: SimNode) -> None:
        """Only where no action wants the cordon too: operators are polite here."""
        if node.name in self.judge.by_hand and not cordon_owners(node.value()):
            self.judge.by_hand.discard(node.name)
            self.cluster.cordon_by_hand(node, False)

    def _hiccup(self) -> None:
        random = self.world.random
        nodes = [node for node in self.cluster.by_name.values() if node.machine and node.ready]
        if nodes:
            self.cluster.hiccup(random.choice(nodes), random.uniform(30, 400))

    def _sudden_death(self) -> None:
        alive = self.cloud.alive()
        if alive:
            self.cloud.end(self.world.random.choice(alive), Ending.FAILED)

    def _no_metrics(self) -> None:
        self.metrics.problem = self.world.random.choice(("", "", "the latest sample is old"))


class _Signed(Gated[Cluster]):
    """The store of one invocation; the judge is told when its process has listed the machines."""

    def __init__(self, store: ClusterStore, process: Process, cloud: GatedCloud, judge: Judge) -> None:
        super().__init__(store, process)
        self._cloud, self._judge = cloud, judge

    def commit(
        self, subject: str, found: Versioned[Cluster], write: Write[Cluster], commit_id: str
    ) -> Versioned[Cluster]:
        def run() -> Versioned[Cluster]:
            self._judge.looked_s = self._cloud.looked_s
            return self._store.commit(subject, found, write, commit_id)

        return self._gate.call(f"commit {write.events[0].kind}", Kind.CHANGE, run)
