"""What nodes offer to pods: those that stand, and those that a pool would bring.

A pool would bring a node of any of its instance types, each with its own size and price.  What nodes of
the pool really have outranks what their type says.
Labels are expected only where the pool declares them or every node of ours gets them: a label that
a person put on a node by hand would be missing on the next.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from msgspec import structs

from holdfast.autoscaler.scheduling.fit import (
    EPHEMERAL_STORAGE,
    HOSTNAME,
    Room,
    host_ports,
    unmatched,
)
from holdfast.autoscaler.scheduling.new_nodes import Candidate
from holdfast.autoscaler.scheduling.node_info import NodeInfo
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.cloud import Instance, Market, Offering, Shape
from holdfast.cloud.kubernetes import (
    CAPACITY_LABEL,
    POOL_LABEL,
    KubeNode,
    NodeSelector,
    Pod,
    SelectorTerm,
)
from holdfast.cloud.requests import Amount, amount_of, lesser, requests_of

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"
"""How EBS' own driver calls the zone, on nodes and in what its volumes ask for."""
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
UNKNOWN_DISK = 1 << 60
"""The disk of a machine is not known before one has joined: no reason to refuse a pod."""


@dataclass(frozen=True, slots=True)
class Known:
    """A node of ours that has joined, with its machine."""

    node: KubeNode
    instance: Instance
    is_young: bool = False
    """Its device plugin may not have told yet what it has."""


def room_of(node: KubeNode, info: NodeInfo, instance: Instance | None = None) -> Room:
    """What a node that stands has left."""
    return Room(
        name=node.metadata.name,
        free=amount_of(node.status.allocatable) - info.requested,
        labels=node.metadata.labels,
        taints=node.spec.taints,
        ports=info.ports,
        zone=instance.zone if instance else node.metadata.labels.get(ZONE, ""),
        pool=instance.pool if instance else "",
        instance_id=instance.instance_id if instance else "",
        cordoned=node.spec.unschedulable,
        ready=node.is_ready,
        empty=info.empty,
    )


def candidate(
    pool: Pool,
    *,
    settings: Settings,
    shapes: Mapping[str, Shape],
    zones: Sequence[str],
    known: Sequence[Known],
    every_node_runs: Sequence[Pod],
    more: int,
    types: Sequence[str] | None = None,
    usd: Callable[[Offering], float] = lambda offering: 0.0,
) -> Candidate:
    """The pool as one that may scale up, with a room for each of its types in each zone.

    `known`: its nodes that have joined.  `types`: what its requirements come to; None: those that it names.
    `usd`: what a machine is expected to cost an hour.
    """
    types, market = pool.instance_types if types is None else types, Market(pool.market)
    sizes = {kind: size for kind in types if (size := _size(kind, settings, shapes, known))}
    if not sizes:
        problem = f"EC2 gave no size for {', '.join(types) or 'its machines'}"
        return Candidate(pool.name, (), more, problem, pool.weight, market)
    empty = [
        _with_daemons(
            Room(
                name=f"a new node of pool {pool.name}",
                free=Amount(),
                labels=_labels(pool, types, zone, settings, known),
                taints=pool.taints,
                zone=zone,
                pool=pool.name,
                empty=True,
                new=True,
            ),
            every_node_runs,
        )
        for zone in dict.fromkeys(zones or ("",))
    ]
    rooms = tuple(
        structs.replace(
            room,
            free=size + room.free,
            instance_type=kind,
            usd=usd(Offering(room.zone, market, kind)),
        )
        for kind, size in sizes.items()
        for room in empty
    )
    return Candidate(pool.name, rooms, more, "", pool.weight, market)


def _size(
    kind: str, settings: Settings, shapes: Mapping[str, Shape], known: Sequence[Known]
) -> Amount | None:
    shape = shapes.get(kind)
    seen = [
        expected(amount_of(one.node.status.allocatable), shape if one.is_young else None)
        for one in known
        if one.instance.instance_type == kind
    ]
    if seen:
        return reduce(lesser, seen)
    if shape is None:
        return None
    pods = min(shape.pods, settings.pods_per_node)
    disk = Amount(shape.cpu_m, shape.memory, pods, ((EPHEMERAL_STORAGE, UNKNOWN_DISK),))
    return expected(disk, shape)


def expected(offers: Amount, shape: Shape | None) -> Amount:
    """With the devices that a machine of this shape has and its node does not tell yet."""
    there = dict(offers.extended)
    missing = [(name, count) for name, count in (shape.devices if shape else ()) if name not in there]
    return (
        structs.replace(offers, extended=tuple(sorted((*offers.extended, *missing)))) if missing else offers
    )


def _labels(
    pool: Pool, types: Sequence[str], zone: str, settings: Settings, known: Sequence[Known]
) -> dict[str, str]:
    labels = {
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": pool.architecture,
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": pool.architecture,
        HOSTNAME: "(new)",
        POOL_LABEL: pool.name,
    }
    # Spot may give way to on-demand: a pod that demands on-demand is promised none by a pool of spot.
    if _all_say(known, CAPACITY_LABEL, lambda one: one.instance.market.value):
        labels[CAPACITY_LABEL] = pool.market
    for label in (ZONE, EBS_ZONE):
        if zone and _all_say(known, label, lambda one: one.instance.zone):
            labels[label] = zone
    if settings.region and _all_say(known, REGION, lambda one: settings.region):
        labels[REGION] = settings.region
    # Which cloud controller runs decides what this label says: believed only once seen.
    alone = known and len(types) == 1
    if alone and _all_say(known, INSTANCE_TYPE, lambda one: one.instance.instance_type):
        labels[INSTANCE_TYPE] = types[0]
    return {**labels, **pool.labels}


def _all_say(known: Iterable[Known], label: str, expected: Callable[[Known], str]) -> bool:
    """Whether no node of the pool belies what a new one is expected to carry."""
    return all(one.node.metadata.labels.get(label) == expected(one) for one in known)


def _with_daemons(room: Room, every_node_runs: Iterable[Pod]) -> Room:
    """Less what the DaemonSets would take that run on such a node."""
    free, ports, runs = room.free, room.ports, []
    for pod in every_node_runs:
        if not unmatched(_anywhere(pod), room):
            free = free - requests_of(pod)
            ports |= host_ports(pod)
            runs.append(pod)
    return structs.replace(room, free=free, ports=ports, runs=tuple(runs))


def _anywhere(pod: Pod) -> Pod:
    """The pod without the name of the node that its DaemonSet made it for."""
    affinity = pod.spec.affinity
    node_affinity = affinity.node_affinity if affinity else None
    if affinity is None or node_affinity is None or node_affinity.required is None:
        return pod
    terms = [term.match_expressions for term in node_affinity.required.node_selector_terms]
    selector = NodeSelector(node_selector_terms=tuple(SelectorTerm(match_expressions=each) for each in terms))
    # A term of which nothing is left matches every node.
    wanted = structs.replace(node_affinity, required=selector if all(terms) else None)
    spec = structs.replace(pod.spec, affinity=structs.replace(affinity, node_affinity=wanted))
    return structs.replace(pod, spec=spec)
