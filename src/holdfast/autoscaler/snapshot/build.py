"""Joins what was listed into one snapshot: the machine, its node and what runs there.

A node belongs to a machine by its provider id or instance label, never by address or name.  A node
that belongs to none is not ours (the control plane, or a node of another tool), but still offers room.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from holdfast.autoscaler.ports import Load
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.scale_up.offering_ranks import expected_prices
from holdfast.autoscaler.scale_up.unhelped import left_alone
from holdfast.autoscaler.scheduling.simulation import Simulation, is_control_plane
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import NEVER_S, NOTHING_KNOWN, Ghost, Place, Snapshot, Worker
from holdfast.autoscaler.snapshot.brake import brake, doubts
from holdfast.cloud import ALIVE, Instance, Notice, NoticeKind, Prices, Shape
from holdfast.cloud.kubernetes import (
    INSTANCE_LABEL,
    POOL_LABEL,
    Budget,
    KubeNode,
    Pod,
    cordon_owners,
    instance_id_of,
    is_joining,
)
from holdfast.cloud.launches import Template
from holdfast.cloud.volumes import VolumeLists

if TYPE_CHECKING:
    from holdfast.autoscaler.money.shares import FleetCost


@dataclass(frozen=True, slots=True, kw_only=True)
class Listings:
    """Everything that one look brought, as it was listed."""

    owner: str = ""
    at_s: float = 0.0
    """When it was looked."""
    cluster: Cluster = field(default_factory=Cluster)
    """The record as it was read before: it knows which machines have joined once."""
    cluster_uid: str = ""
    instances: Sequence[Instance] = ()
    nodes: Sequence[KubeNode] = ()
    pods: Sequence[Pod] = ()
    namespaces: Mapping[str, Mapping[str, str]] | None = None
    """Their labels by name.  None: no pod asks for them, or they could not be listed."""
    volumes: VolumeLists | None = None
    """None: no pod has a claim, or they could not be listed."""
    budgets: Sequence[Budget] = ()
    load: Load = NOTHING_KNOWN
    loads: Mapping[str, Load] = field(default_factory=dict)
    """By pool, where several are in service."""
    notices: Sequence[Notice] = ()
    marked: Sequence[Notice] = ()
    """Of machines that the cloud says it is taking back."""
    settings: Settings = field(default_factory=Settings)
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    """By instance type."""
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By pool, where it has requirements: the types that they come to."""
    templates: Mapping[str, Template] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    pool_problems: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    """What an operator should mend, and what holds nothing up."""
    zones: Mapping[str, str] = field(default_factory=dict)
    """By subnet id."""
    prices: Prices = field(default_factory=lambda: Prices({}))
    ready_nodes: frozenset[str] | None = None
    """The nodes that the readiness check calls Ready, by name.  None: it was not asked, or gave no answer."""
    troubles: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Joined:
    """Machines and nodes, each beside its own."""

    workers: tuple[Worker, ...]
    nodes: Mapping[str, KubeNode]
    """By instance id: the nodes of listed machines."""
    others: tuple[KubeNode, ...]
    """Nodes of no listed machine."""
    ghosts: tuple[Ghost, ...]
    places: tuple[Place, ...]


def build(listings: Listings) -> Snapshot:
    joined = join(listings)
    return snapshot_of(listings, joined, simulate(listings, joined))


def snapshot_of(listings: Listings, joined: Joined, simulation: Simulation) -> Snapshot:
    cluster, settings = listings.cluster, listings.settings
    doubted = tuple(doubts(joined.workers, joined.ghosts, len(listings.nodes), cluster, settings))
    return Snapshot(
        owner=listings.owner,
        workers=joined.workers,
        ghosts=joined.ghosts,
        unschedulable=len(simulation.demand),
        waiting_pods=simulation.waiting_pods,
        pending=simulation.pending,
        pending_since_s=lambda: _epoch_s(simulation.packed(0).since),
        pending_pools=simulation.pending_pools,
        unsatisfiable=simulation.unsatisfiable,
        unhelped=simulation.unhelped,
        waiting=simulation.waiting,
        needs=simulation.needs,
        must_stay=simulation.must_stay,
        fits_without=simulation.fits_without,
        is_empty=simulation.is_empty,
        is_occupied=simulation.is_occupied,
        stays_put=simulation.stays_put,
        fits_on_new=simulation.fits_on_new,
        types_for=simulation.types_for,
        used=simulation.used,
        load=listings.load,
        loads=listings.loads,
        notices=tuple(listings.notices),
        observed=(*listings.marked, *_ended(joined.ghosts, listings.at_s)),
        templates=listings.templates,
        digests=listings.digests,
        pool_problems=listings.pool_problems,
        remarks=tuple(listings.remarks),
        places=joined.places,
        types=listings.types,
        shapes=listings.shapes,
        prices=listings.prices,
        costs=lambda: _costs(listings),
        cluster_uid=listings.cluster_uid,
        troubles=(*listings.troubles, *brake(joined.workers, cluster, settings), *doubted),
        doubts=doubted,
    )


def _epoch_s(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return NEVER_S


def _costs(listings: Listings) -> "FleetCost":
    from holdfast.autoscaler.money.shares import fleet_cost  # no tick needs it

    return fleet_cost(listings.instances, listings.nodes, listings.pods, listings.prices)


def simulate(listings: Listings, joined: Joined) -> Simulation:
    return Simulation(
        settings=listings.settings,
        workers=joined.workers,
        nodes=joined.nodes,
        other_nodes=joined.others,
        pods=listings.pods,
        budgets=listings.budgets,
        shapes=listings.shapes,
        places=joined.places,
        at_s=listings.at_s,
        left_alone=left_alone(listings.cluster, listings.at_s),
        types=listings.types,
        usd=expected_prices(listings.cluster, listings.prices, listings.shapes, listings.at_s).expected,
        namespaces=listings.namespaces,
        volumes=listings.volumes,
    )


def join(listings: Listings) -> Joined:
    listed = {instance.instance_id: instance for instance in listings.instances}
    nodes: dict[str, KubeNode] = {}
    others: list[KubeNode] = []
    ghosts: list[Ghost] = []
    for node in listings.nodes:
        instance_id = instance_id_of(node)
        instance = listed.get(instance_id)
        if instance is not None:
            nodes[instance_id] = _the_one_in_use(node, nodes.get(instance_id))
        if instance_id and not is_control_plane(node) and _is_bereft(node, instance):
            ghosts.append(_ghost(instance_id, node, instance, listings))
        elif instance is None:
            others.append(node)
    nameless, inhabited = _nameless(listings.nodes), _inhabited(listings, nodes)
    workers = tuple(
        _worker(instance, nodes.get(instance.instance_id), listings, nameless, inhabited)
        for instance in listings.instances
    )
    return Joined(
        workers, nodes, tuple(others), tuple(ghosts), tuple(_places(listings.settings, listings.zones))
    )


def _is_bereft(node: KubeNode, instance: Instance | None) -> bool:
    """Whether its machine is listed as not alive, or was ours and is not listed at all."""
    if instance is not None:
        return instance.state not in ALIVE
    return POOL_LABEL in node.metadata.labels or INSTANCE_LABEL in node.metadata.labels


def _ghost(instance_id: str, node: KubeNode, instance: Instance | None, listings: Listings) -> Ghost:
    return Ghost(
        instance_id,
        node.metadata.name,
        node.metadata.uid,
        instance.state if instance else None,
        ready=node.is_ready,
        joining=is_joining(node),
        doubted=_is_doubted(node, listings),
        cordons=cordon_owners(node),
    )


def _is_doubted(node: KubeNode, listings: Listings) -> bool:
    """It joins, and is Ready by the API's word alone."""
    confirmed = listings.ready_nodes
    return is_joining(node) and confirmed is not None and node.metadata.name not in confirmed


def _the_one_in_use(node: KubeNode, other: KubeNode | None) -> KubeNode:
    """A machine that joined again under another name has left its old node behind."""
    if other is None:
        return node
    return max(node, other, key=lambda each: (each.is_ready, each.metadata.creation_timestamp))


def _nameless(nodes: Iterable[KubeNode]) -> dict[str, str]:
    """Nodes that name no machine, by every name and address that a machine might know them by."""
    found: dict[str, str] = {}
    for node in nodes:
        if not instance_id_of(node) and not is_control_plane(node):
            name = node.metadata.name
            found |= dict.fromkeys((name, *(each.address for each in node.status.addresses)), name)
    return found


def _inhabited(listings: Listings, nodes: Mapping[str, KubeNode]) -> frozenset[str]:
    """Names that pods give for their node, though no such node is listed.

    Kubernetes removes the pods of a node that was deleted.  Looked for only where a machine has no node.
    """
    if all(each.instance_id in nodes for each in listings.instances if each.state in ALIVE):
        return frozenset()
    named = {pod.spec.node_name for pod in listings.pods if not pod.metadata.deletion_timestamp}
    return frozenset(named - {"", *(node.metadata.name for node in listings.nodes)})


def _worker(
    instance: Instance,
    node: KubeNode | None,
    listings: Listings,
    nameless: Mapping[str, str],
    inhabited: frozenset[str],
) -> Worker:
    if node is None:
        dns = instance.private_dns
        known_as = [each for each in (instance.private_ip, dns, dns.partition(".")[0]) if each]
        namesake = next((nameless[each] for each in known_as if each in nameless), "")
        late = listings.at_s - instance.launched_s > listings.settings.join_timeout_s
        return Worker(
            instance=instance,
            namesake=namesake,
            late=late and not namesake,
            has_pods=not inhabited.isdisjoint(known_as),
        )
    return Worker(
        instance=instance,
        node_name=node.metadata.name,
        node_uid=node.metadata.uid,
        ready=node.is_ready and not _is_doubted(node, listings),
        joining=is_joining(node),
        cordons=cordon_owners(node),
        cordoned=node.spec.unschedulable,
    )


def _ended(ghosts: Iterable[Ghost], at_s: float) -> Iterator[Notice]:
    """A machine that has ended and whose node is still there was not taken out of service by us first."""
    for ghost in ghosts:
        if ghost.state is not None:
            yield Notice(ghost.instance_id, NoticeKind.GONE, int(at_s))


def _places(settings: Settings, zones: Mapping[str, str]) -> Iterable[Place]:
    for pool in settings.pools:
        for subnet_id in pool.subnet_ids:
            if subnet_id in zones:
                yield Place(pool.name, zones[subnet_id], subnet_id)
