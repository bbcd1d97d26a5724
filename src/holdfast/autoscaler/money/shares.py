"""Who costs what: each pod bears the share of its node that it requests, half by CPU and half by memory.

What no pod requests is paid in vain, and is shown as such: no pod bears it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from holdfast.autoscaler.money.rates import on_demand_price, price
from holdfast.autoscaler.scale_down.drain import controller_of
from holdfast.cloud import ALIVE, Instance, Market, Prices
from holdfast.cloud.kubernetes import KubeNode, Pod, instance_id_of
from holdfast.cloud.requests import Amount, amount_of, requests_of

ENDED = frozenset({"Succeeded", "Failed"})
TEMPLATE_HASH = "pod-template-hash"


@dataclass(frozen=True, slots=True)
class NodeCost:
    instance_id: str
    node: str
    """Empty: it has not joined."""
    pool: str
    zone: str
    instance_type: str
    market: str
    usd: float | None
    """An hour.  None: its price is not known."""
    on_demand_usd: float | None
    requested: float
    """The share of it that pods request, from 0 to 1."""

    @property
    def wasted_usd(self) -> float | None:
        """What is paid for and requested by no pod."""
        return None if self.usd is None else self.usd * (1 - self.requested)


@dataclass(frozen=True, slots=True)
class FleetCost:
    nodes: tuple[NodeCost, ...]
    workloads: Mapping[tuple[str, str], float]
    """Dollars an hour by namespace and workload."""

    @property
    def namespaces(self) -> dict[str, float]:
        total: defaultdict[str, float] = defaultdict(float)
        for (namespace, _), usd in self.workloads.items():
            total[namespace] += usd
        return dict(total)

    @property
    def usd(self) -> float:
        return sum(node.usd or 0.0 for node in self.nodes)

    @property
    def on_demand_usd(self) -> float:
        """Of the same machines; where that price is not known, what is paid."""
        return sum(
            (node.on_demand_usd if node.on_demand_usd is not None else node.usd) or 0.0
            for node in self.nodes
            if node.usd is not None
        )

    @property
    def wasted_usd(self) -> float:
        return sum(node.wasted_usd or 0.0 for node in self.nodes)

    @property
    def unpriced(self) -> tuple[str, ...]:
        return tuple(node.node or node.instance_id for node in self.nodes if node.usd is None)

    @property
    def saving_unknown(self) -> tuple[str, ...]:
        """Types of spot machines that have a price, and of which the on-demand price is not known."""
        return tuple(
            sorted(
                {
                    node.instance_type
                    for node in self.nodes
                    if node.market == Market.SPOT and node.usd is not None and node.on_demand_usd is None
                }
            )
        )

    def of(self, nodes: Iterable[NodeCost]) -> "FleetCost":
        """The sums of some of the nodes."""
        return FleetCost(tuple(nodes), {})


def fleet_cost(
    instances: Sequence[Instance], nodes: Sequence[KubeNode], pods: Iterable[Pod], prices: Prices
) -> FleetCost:
    """Every machine that lives, and every pod that has a node of it."""
    node_of = {instance_id_of(node): node for node in nodes}
    on: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        if pod.spec.node_name and pod.status.phase not in ENDED:
            on[pod.spec.node_name].append(pod)
    found: list[NodeCost] = []
    workloads: defaultdict[tuple[str, str], float] = defaultdict(float)
    for instance in instances:
        if instance.state not in ALIVE:
            continue
        node = node_of.get(instance.instance_id)
        usd = price(instance, prices)
        shares = _shares(node, on[node.metadata.name]) if node is not None else []
        for pod, share in shares:
            workloads[pod.metadata.namespace, workload_of(pod)] += share * (usd or 0.0)
        found.append(
            NodeCost(
                instance_id=instance.instance_id,
                node=node.metadata.name if node is not None else "",
                pool=instance.pool,
                zone=instance.zone,
                instance_type=instance.instance_type,
                market=instance.market,
                usd=usd,
                on_demand_usd=on_demand_price(instance, prices),
                requested=min(1.0, sum(share for _, share in shares)),
            )
        )
    return FleetCost(tuple(found), dict(workloads))


def workload_of(pod: Pod) -> str:
    """The Deployment, StatefulSet, DaemonSet or Job, as kubectl writes it; a bare pod by its own name."""
    owner = controller_of(pod)
    if owner is None:
        return f"pod/{pod.metadata.name}"
    kind, name = owner.kind.lower(), owner.name
    made_of = pod.metadata.labels.get(TEMPLATE_HASH, "")
    if kind == "replicaset" and made_of and name.endswith(f"-{made_of}"):
        return f"deployment/{name.removesuffix(f'-{made_of}')}"
    return f"{kind}/{name}"


def _shares(node: KubeNode, pods: Sequence[Pod]) -> list[tuple[Pod, float]]:
    """Where more is requested than there is, each share is cut alike: together they cost one node."""
    has = amount_of(node.status.allocatable)
    shares = [(pod, _share(requests_of(pod), has)) for pod in pods]
    total = sum(share for _, share in shares)
    return [(pod, share / total) for pod, share in shares] if total > 1 else shares


def _share(wants: Amount, has: Amount) -> float:
    cpu = wants.cpu_m / has.cpu_m if has.cpu_m else 0.0
    memory = wants.memory / has.memory if has.memory else 0.0
    return (cpu + memory) / 2
