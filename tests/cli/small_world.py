"""A cluster and a cloud that stand still, and remember what was done to them: for the command line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.adapters.clock import SystemClock, new_id
from holdfast.app.autoscaler.stores import open_stores
from holdfast.autoscaler.ports import Load
from holdfast.autoscaler.record import Launch
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.tick import Autoscaler
from holdfast.cloud import Instance, MachineType, Market, Notice, Offering, Prices, Shape
from holdfast.cloud.announcements import Announcement
from holdfast.cloud.kubernetes import Budget, Evicted, Eviction, KubeNode, Meta, Namespace, Pod
from holdfast.cloud.launches import Launched, Refused, Template, Termination
from holdfast.cloud.volumes import VolumeLists
from holdfast.kernel import HoldfastError
from tests.workloads import SHAPES, ZONES, instance, node

USD = {Offering(zone, Market.SPOT, "t3.medium"): 0.0125 for zone in ZONES.values()}


@dataclass
class SmallWorld:
    """Cloud, cluster and metrics in one."""

    machines: list[Instance] = field(default_factory=list)
    its_nodes: list[KubeNode] = field(default_factory=list)
    its_pods: list[Pod] = field(default_factory=list)
    its_budgets: list[Budget] = field(default_factory=list)
    measured: Load = field(default_factory=lambda: Load(0.5, 0.6, source="prometheus"))
    usd: Mapping[Offering, float] = field(default_factory=lambda: USD)
    all_types: Sequence[MachineType] = ()
    broken: HoldfastError | None = None
    """What every look suffers."""
    uid: str = "uid-kube-system"
    touched: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, workers: int, **said: Any) -> "SmallWorld":
        """So many workers in service, over three zones, and the control plane's node."""
        zones = [list(ZONES.values())[n % 3] for n in range(workers)]
        return cls(
            machines=[instance(f"i-{n}", zone=zone, launched_s=1_000 + n) for n, zone in enumerate(zones)],
            its_nodes=[
                *(node(f"n-{n}", zone=zone) for n, zone in enumerate(zones)),
                node("server", instance_id="-", control_plane=True),
            ],
            **said,
        )

    def autoscaler(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        *,
        create_tables: bool = False,
        watches: None = None,
    ) -> Autoscaler:
        """Stands in for `wiring.assemble`: the store is real."""
        stores = open_stores(settings, environ, create_tables=create_tables)
        return Autoscaler(
            settings, stores.store, stores.inbox, self, self, self, SystemClock(), new_id, lambda: 0.5
        )

    def instances(self) -> Sequence[Instance]:
        if self.broken:
            raise self.broken
        return self.machines

    def launch(self, action_id: str, launch: Launch) -> Launched | Refused:
        self.touched.append(f"launch {launch.count}")
        return Launched(tuple(f"i-new-{launch.group}-{n}" for n in range(launch.count)))

    def terminate(self, instance_ids: Sequence[str]) -> Mapping[str, Termination]:
        self.touched += [f"terminate {each}" for each in instance_ids]
        return dict.fromkeys(instance_ids, Termination.ACCEPTED)

    def templates(self, pools: Sequence[Pool]) -> Mapping[str, Template]:
        return {pool.name: Template("lt-1", 1, self.digest(pool)) for pool in pools}

    def digest(self, pool: Pool) -> str:
        return f"digest of {pool.name}"

    def prepare(self, pool: Pool) -> None:
        self.touched.append(f"prepare {pool.name}")

    def subnets(self, subnet_ids: Sequence[str]) -> Mapping[str, str]:
        return {each: ZONES[each] for each in subnet_ids}

    def shapes(self, instance_types: Sequence[str]) -> Mapping[str, Shape]:
        return SHAPES

    def types(self) -> Sequence[MachineType]:
        return self.all_types

    def prices(self, offerings: Sequence[Offering]) -> Prices:
        return Prices(self.usd)

    def marked(self) -> Sequence[Notice]:
        return ()

    def console(self, instance_id: str) -> str:
        return ""

    def cluster_uid(self) -> str:
        return self.uid

    def namespaces(self) -> Sequence[Namespace]:
        return [Namespace(metadata=Meta(name="shop", labels={"team": "shop"}))]

    def nodes(self) -> Sequence[KubeNode]:
        return self.its_nodes

    def pods(self, node_name: str | None = None) -> Sequence[Pod]:
        return [pod for pod in self.its_pods if node_name in (None, pod.spec.node_name)]

    def volumes(self) -> VolumeLists:
        return VolumeLists()

    def budgets(self) -> Sequence[Budget]:
        return self.its_budgets

    def node(self, name: str) -> KubeNode | None:
        return next((each for each in self.its_nodes if each.metadata.name == name), None)

    def change_node(self, node: KubeNode, changed: KubeNode) -> KubeNode:
        self.touched.append(f"change {node.metadata.name}")
        return changed

    def evict(self, pod: Pod, *, grace_s: int | None = None, dry_run: bool = False) -> Evicted:
        self.touched += [] if dry_run else [f"evict {pod.called}"]
        return Evicted(Eviction.ACCEPTED)

    def delete_pod(self, pod: Pod, *, grace_s: int) -> None:
        self.touched.append(f"delete {pod.called}")

    def announce(self, announcement: Announcement, at_s: float) -> None:
        """Nobody reads the Events here."""

    def delete_node(self, name: str, uid: str) -> None:
        self.touched.append(f"delete {name}")

    def load(self, nodes: Sequence[KubeNode], pods: Sequence[Pod], window_s: int) -> Load:
        return self.measured
