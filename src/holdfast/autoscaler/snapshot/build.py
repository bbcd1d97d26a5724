"""Joins what was listed into one snapshot: the machine, its node and what runs there.

A node belongs to a machine by its provider id or instance label, never by address or name.  A node
that belongs to none is not ours (the control plane, or a node of another tool), but still offers room.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.autoscaler.ports import Load
from holdfast.autoscaler.scheduling.simulation import Simulation, is_control_plane
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import NOTHING_KNOWN, Ghost, Place, Snapshot, Worker
from holdfast.cloud import ALIVE, Instance, Notice, Prices, Shape
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

MANY = 2
"""A single node that is not ready or not there is no sign of a wider trouble."""
SETTLED_S = 6 * 3_600
"""A machine of this age has joined once, or it would have been swept long ago."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listings:
    """Everything that one look brought, as it was listed."""

    owner: str = ""
    at_s: float = 0.0
    """When it was looked."""
    instances: Sequence[Instance] = ()
    nodes: Sequence[KubeNode] = ()
    pods: Sequence[Pod] = ()
    budgets: Sequence[Budget] = ()
    load: Load = NOTHING_KNOWN
    notices: Sequence[Notice] = ()
    settings: Settings = field(default_factory=Settings)
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    """By instance type."""
    templates: Mapping[str, Template] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
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
    return Snapshot(
        owner=listings.owner,
        workers=joined.workers,
        ghosts=joined.ghosts,
        pending=simulation.pending,
        unsatisfiable=simulation.unsatisfiable,
        needs=simulation.needs,
        must_stay=simulation.must_stay,
        fits_without=simulation.fits_without,
        load=listings.load,
        notices=tuple(listings.notices),
        templates=listings.templates,
        digests=listings.digests,
        places=joined.places,
        prices=listings.prices,
        troubles=(*listings.troubles, *brake(joined, listings.settings, listings.at_s)),
    )


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
            state = instance.state if instance else None
            ghosts.append(
                Ghost(instance_id, node.metadata.name, node.metadata.uid, state, ready=node.is_ready)
            )
        elif instance is None:
            others.append(node)
    workers = tuple(
        _worker(instance, nodes.get(instance.instance_id), listings.ready_nodes)
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


def _the_one_in_use(node: KubeNode, other: KubeNode | None) -> KubeNode:
    """A machine that joined again under another name has left its old node behind."""
    if other is None:
        return node
    return max(node, other, key=lambda each: (each.is_ready, each.metadata.creation_timestamp))


def _worker(instance: Instance, node: KubeNode | None, confirmed: frozenset[str] | None) -> Worker:
    if node is None:
        return Worker(instance=instance)
    joining = is_joining(node)
    doubted = joining and confirmed is not None and node.metadata.name not in confirmed
    return Worker(
        instance=instance,
        node_name=node.metadata.name,
        node_uid=node.metadata.uid,
        ready=node.is_ready and not doubted,
        joining=joining,
        cordons=cordon_owners(node),
        cordoned=node.spec.unschedulable,
    )


def _places(settings: Settings, zones: Mapping[str, str]) -> Iterable[Place]:
    for pool in settings.pools:
        for subnet_id in pool.subnet_ids:
            if subnet_id in zones:
                yield Place(pool.name, zones[subnet_id], subnet_id)


def brake(joined: Joined, settings: Settings, at_s: float) -> Iterator[str]:
    """Many that fail at once look like a mistake of ours or a broken control plane: no worker leaves then."""
    alive = [worker for worker in joined.workers if worker.alive]
    once_joined = [worker for worker in alive if worker.node_name and not worker.joining]
    not_ready = sum(not worker.ready for worker in once_joined)
    if _many(not_ready, len(once_joined), settings):
        yield f"{not_ready} of {len(once_joined)} nodes are not ready at once"
    settled = [w for w in alive if w.ours and at_s - w.instance.launched_s > SETTLED_S]
    without_node = sum(not worker.node_name for worker in settled)
    if _many(without_node, len(settled), settings):
        looks_like = "another cluster behind the kubeconfig, or nodes that were deleted"
        yield f"{without_node} of {len(settled)} machines have no node at once: {looks_like}"
    without_machine = sum(ghost.ready and ghost.state is None for ghost in joined.ghosts)
    if _many(without_machine, without_machine + len(once_joined), settings):
        looks_like = "another region, or tags that were changed"
        yield f"{without_machine} Ready nodes have no listed machine at once: {looks_like}"


def _many(count: int, of: int, settings: Settings) -> bool:
    return count >= MANY and count > settings.brake_not_ready_fraction * of
