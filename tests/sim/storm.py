"""Hundreds of spot notices within a minute, on a large fleet, under the services' own limits."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from holdfast.autoscaler import codec
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.tick import Autoscaler
from holdfast.cloud import Market, Notice, Offering, State
from holdfast.cloud.kubernetes import KubeNode
from holdfast.sim.ec2.cloud import Manners
from holdfast.sim.ec2.machine import Machine
from holdfast.sim.kubernetes.pods import Owned, SimNode, SimPod, Workload
from holdfast.sim.limits import ItemLimits
from holdfast.sim.memory import MemoryItems
from holdfast.sim.scenarios.scaling import SUBNETS, TYPES, Scaling
from holdfast.sim.scenarios.scaling_judge import Judge
from holdfast.sim.world import World

MINUTE_S, TRANSACTION_S = 60.0, 0.015
PODS_A_NODE = 3


def settings(nodes: int) -> Settings:
    return Settings(
        min_workers=3,
        max_workers=nodes,
        max_batch_up=100,
        launches_per_hour_max=3 * nodes,
        pools=(Pool(instance_types=TYPES, subnet_ids=tuple(SUBNETS), max_workers=nodes),),
    )


class Metered(MemoryItems[Any]):
    """One item with DynamoDB's limits on reads too."""

    def __init__(self, world: World, transaction_s: float) -> None:
        self.limits = ItemLimits(world.now_s, transaction_s=transaction_s)
        super().__init__(codec.CODEC, limits=self.limits)


class Touches(Judge):
    """The judge, which also counts how often each node and pod was touched."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.cordoned: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()

    def changed(self, node: SimNode, before: KubeNode) -> None:
        super().changed(node, before)
        if node.cordoned and not before.spec.unschedulable and node.machine is not None:
            self.cordoned[node.machine.instance_id] += 1

    def evicted(self, pod: SimPod) -> None:
        super().evicted(pod)
        self.asked[pod.uid] += not pod.deleting_s


class Storm:
    def __init__(
        self,
        *,
        seed: int,
        nodes: int,
        victims: int,
        pods_a_node: int = PODS_A_NODE,
        transaction_s: float = TRANSACTION_S,
        shell: Any = Autoscaler,
    ) -> None:
        self.world = World(seed)
        self.store = Metered(self.world, transaction_s)
        self.scaling = Scaling(self.world, self.store, settings=settings(nodes), autoscaler=shell)
        self.cloud, self.cluster = self.scaling.cloud, self.scaling.cluster
        self.cloud.manners = Manners(joining_s=(20.0, 50.0))
        self.judge = self.scaling.judge = Touches(
            self.cloud, self.cluster, self.scaling.settings, record=lambda: self.scaling.record
        )
        self.undrained: list[str] = []
        self.cloud.stops = self._stopped
        for pool in self.scaling.settings.pools:
            self.cloud.prepare(pool)  # the fleet came from somewhere
        self.fleet = [self._machine(n) for n in range(nodes)]
        self.cluster.deploy(Workload(name="logs", kind=Owned.DAEMON_SET, cpu_m=50))
        self.web = self.cluster.deploy(Workload(name="web", replicas=pods_a_node * nodes, cpu_m=600))
        self.world.run(self.world.now + 60)
        assert not self.cluster.waiting, "every pod runs before the storm"
        self.victims = self.world.random.sample(self.fleet, victims)
        self.strangers = [
            self.cloud.add(Offering("a", Market.SPOT, TYPES[0]), foreign=True, state=State.RUNNING)
            for _ in range(10)
        ]
        self.world.every(MINUTE_S, self.scaling.invoke)

    def _machine(self, n: int) -> Machine:
        zone = sorted(set(SUBNETS.values()))[n % 3]
        machine = self.cloud.add(
            Offering(zone, Market.SPOT, TYPES[0]), action_id="earlier", state=State.RUNNING
        )
        self.judge.named.add(machine.instance_id)
        node = self.cluster.add_node(
            machine.address,
            zone=zone,
            machine=machine,
            provider_id=f"aws:///{zone}/{machine.instance_id}",
            ready=True,
        )
        assert node.ready
        return machine

    def _stopped(self, machine: Machine) -> None:
        node = self.cluster.by_name.get(machine.address)
        mine = node.pods.values() if node is not None and node.machine is machine else ()
        left = [pod.name for pod in mine if pod.workload is self.web]
        if left:
            self.undrained.append(f"{machine.instance_id} died with {left}")
        self.cluster.stop(machine)

    def strike(self, arrive: Callable[["Storm", Machine], None]) -> None:
        """Every victim gets its notice within one minute, and so do some strangers."""
        for machine in [*self.victims, *self.strangers]:
            self.world.after(self.world.random.uniform(0, MINUTE_S), arrive, self, machine)

    def run(self, seconds: float) -> None:
        self.world.run(self.world.now + seconds)

    def launched(self) -> int:
        return sum(len(entry.instance_ids) for entry in self.cloud.log if entry.kind == "launched")

    def touched_strangers(self) -> list[str]:
        ids = {machine.instance_id for machine in self.strangers}
        return [
            f"{entry}"
            for entry in self.cloud.log
            if entry.kind == "asked to end" and ids & {*entry.instance_ids}
        ]


def over_eventbridge(storm: Storm, machine: Machine) -> None:
    """One invocation a notice; every fifth arrives twice."""
    notice = storm.cloud.notice(machine)
    random = storm.world.random
    for _ in range(1 + (random.random() < 0.2)):
        storm.world.after(random.uniform(0.1, 4), storm.scaling.invoke, notice)


class Queue:
    """SQS in front of a Lambda: batches of ten, in no order, some messages more than once."""

    def __init__(self) -> None:
        self.messages: list[Notice] = []
        self.polling = False

    def __call__(self, storm: Storm, machine: Machine) -> None:
        notice = storm.cloud.notice(machine)
        random = storm.world.random
        self.messages += [notice] * (1 + (random.random() < 0.2))
        if not self.polling:
            self.polling = True
            storm.world.after(random.uniform(0.2, 2), self._poll, storm)

    def _poll(self, storm: Storm) -> None:
        self.polling = False
        storm.world.random.shuffle(self.messages)
        while self.messages:
            batch, self.messages = self.messages[:10], self.messages[10:]
            storm.scaling.invoke(*batch)
