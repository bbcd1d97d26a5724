"""Pods, nodes and budgets of one look, considered when a caller asks and never twice.

Made by one pass over the pods that only sorts them by node: a tick with nothing to do asks nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from msgspec import structs

from holdfast.autoscaler.scale_down.drain import Blocker, blockers, is_daemon, remaining, to_evict
from holdfast.autoscaler.scheduling import fleet_blockers
from holdfast.autoscaler.scheduling.budgets import Budgets
from holdfast.autoscaler.scheduling.fit import Room, named
from holdfast.autoscaler.scheduling.machines.spare import Spares, missing, spares_of
from holdfast.autoscaler.scheduling.new_nodes import TYPES_NAMED_MAX, Candidate
from holdfast.autoscaler.scheduling.node_info import NodeInfos
from holdfast.autoscaler.scheduling.pack import Packed, pack, unplaceable
from holdfast.autoscaler.scheduling.pod_groups import PodTemplates, owner_of
from holdfast.autoscaler.scheduling.rooms import Known, candidate, expected, room_of
from holdfast.autoscaler.scheduling.terms import NamespaceLabels
from holdfast.autoscaler.scheduling.topology import Topology
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.snapshot import Need, Place, Worker
from holdfast.cloud import Offering, Shape
from holdfast.cloud.announcements import WaitingPod
from holdfast.cloud.kubernetes import (
    CORDON_FOUND,
    Budget,
    KubeNode,
    Pod,
    cordon_owners,
    kept_by_annotation,
)
from holdfast.cloud.requests import Amount, amount_of, requests_of
from holdfast.cloud.volumes import VolumeLists

NAMED_MAX = 10
"""Pods of one kind that are named one by one."""
DEVICES_WITHIN_S = 900
"""From its launch until a machine's device plugin must have told what it has."""
CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")


def is_control_plane(node: KubeNode) -> bool:
    return any(label in node.metadata.labels for label in CONTROL_PLANE)


def is_cordoned_by_a_person(node: KubeNode) -> bool:
    """No action of ours owns the cordon, or it was there before ours."""
    if not node.spec.unschedulable:
        return False
    return not cordon_owners(node) or CORDON_FOUND in node.metadata.annotations


def is_unschedulable(pod: Pod) -> bool:
    """The scheduler looked at it and found no node.  What it has not looked at yet is no demand, nor is
    what it makes room for already."""
    if pod.status.nominated_node_name or pod.metadata.deletion_timestamp is not None:
        return False
    for each in pod.status.conditions:
        if each.type == "PodScheduled" and each.status == "False" and each.reason == "Unschedulable":
            return not is_daemon(pod)
    return False


class Simulation:
    """Everything that pods and budgets decide about one look."""

    def __init__(
        self,
        *,
        settings: Settings,
        workers: Sequence[Worker],
        nodes: Mapping[str, KubeNode],
        other_nodes: Sequence[KubeNode],
        pods: Sequence[Pod],
        budgets: Sequence[Budget],
        shapes: Mapping[str, Shape],
        places: Sequence[Place],
        at_s: float = 0.0,
        left_alone: frozenset[str] = frozenset(),
        namespaces: NamespaceLabels | None = None,
        volumes: VolumeLists | None = None,
        types: Mapping[str, tuple[str, ...]] | None = None,
        usd: Callable[[Offering], float] = lambda offering: 0.0,
    ) -> None:
        """`nodes`: by instance id, those of the workers; `other_nodes`: what else offers room.  `types`: by
        pool, what its requirements come to.  `usd`: what a machine is expected to cost an hour."""
        self._types, self._usd = types or {}, usd
        self._settings, self._workers, self._shapes, self._places = settings, workers, shapes, places
        self._left_alone, self._namespaces, self._volumes = left_alone, namespaces, volumes
        self._nodes, self._other_nodes, self._all_budgets = nodes, other_nodes, budgets
        self._at_s, self._pods = at_s, pods
        self._worker_of = {worker.instance_id: worker for worker in workers}
        self.unbound: list[Pod] = []
        self._nominated: defaultdict[str, list[Pod]] = defaultdict(list)
        """By node: pods for which the scheduler makes room there."""
        self._refused = PodTemplates()
        unbound, refused = self.unbound, self._refused
        for pod in pods:
            if pod.spec.node_name:
                continue
            unbound.append(pod)
            if is_unschedulable(pod):
                refused.add(pod)
            elif pod.status.nominated_node_name and pod.metadata.deletion_timestamp is None:
                self._nominated[pod.status.nominated_node_name].append(pod)
        self._packed: dict[int, Packed] = {}
        self._stay: dict[str, str] = {}
        self._replaceable: dict[str, tuple[tuple[str, ...], str]] = {}
        self._unplaceable: dict[tuple[frozenset[str], frozenset[str]], str] = {}

    @cached_property
    def _on(self) -> dict[str, list[Pod]]:
        """By node: all that are bound to it."""
        on: defaultdict[str, list[Pod]] = defaultdict(list)
        for pod in self._pods:
            if name := pod.spec.node_name:
                on[name].append(pod)
        return on

    def pods_on(self, node_name: str) -> Sequence[Pod]:
        return self._on.get(node_name, ())

    @cached_property
    def _infos(self) -> NodeInfos:
        """What takes room on each node: the pods that run there, and those that are about to."""
        infos = NodeInfos()
        infos.add(self._pods)
        for node, pods in self._nominated.items():
            infos.nominate(node, pods)
        return infos

    @property
    def demand(self) -> list[Pod]:
        """Pods that the scheduler finds no room for, and will not make room for either."""
        return self._demand.pods

    @cached_property
    def _demand(self) -> PodTemplates:
        preempting = self.preempting
        if not preempting:
            return self._refused
        return PodTemplates(pod for pod in self._refused.pods if pod.metadata.uid not in preempting)

    @cached_property
    def preempting(self) -> dict[str, str]:
        """By uid: pods that will preempt others, and the node where they will."""
        if not self._refused.pods:
            return {}
        from holdfast.autoscaler.scheduling.preemption import foreseen  # an idle tick has no use for it

        return foreseen(self._refused.pods, self.rooms, lambda: self._on, self.topology, self._at_s)

    @property
    def pending(self) -> int:
        return self.packed(0).promising if self.demand else 0

    @property
    def unsatisfiable(self) -> tuple[str, ...]:
        return self.packed(0).unsatisfiable if self.demand else ()

    @property
    def pending_pools(self) -> frozenset[str]:
        return self.packed(0).pools if self.demand else frozenset()

    @property
    def unhelped(self) -> dict[str, str]:
        """By their owner: pods for which a node stands empty in vain."""
        return self.packed(0).in_vain if self.demand else {}

    @property
    def waiting(self) -> frozenset[str]:
        return frozenset(owner_of(pod) for pod in self.demand)

    def waiting_pods(self) -> tuple[WaitingPod, ...]:
        """The first few pods of each kind that wait, and whether a new node would take them."""
        return tuple(
            WaitingPod(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid, n < fate.helped, fate.why)
            for fate in (self.packed(0).fates if self.demand else ())
            for n, pod in enumerate(fate.group.pods[:NAMED_MAX])
        )

    def needs(self, on_its_way: int) -> tuple[Need, ...]:
        return self.packed(on_its_way).needs if self.demand or self._spares else ()

    def packed(self, on_its_way: int) -> Packed:
        if on_its_way not in self._packed:
            rooms = [*map(self._with_devices, self.rooms.values()), *self._coming(on_its_way)]
            self._packed[on_its_way] = pack(
                self._demand,
                rooms,
                self.candidates,
                self._settings.max_workers,
                self._left_alone,
                self.topology if self.demand else Topology(),
                self._settings.offerings_min,
                self._spares,
            )
        return self._packed[on_its_way]

    @cached_property
    def _spares(self) -> Spares:
        return spares_of(self._settings.pools)

    @cached_property
    def _spare_missing(self) -> dict[str, int]:
        return missing(self._spares, self.rooms.values())

    @cached_property
    def rooms(self) -> dict[str, Room]:
        """What stands and offers room now, by node."""
        rooms = [room_of(node, self._infos[node.metadata.name]) for node in self._other_nodes]
        for instance_id, node in self._nodes.items():
            worker = self._worker_of[instance_id]
            if worker.alive and not worker.joining:
                rooms.append(room_of(node, self._infos[node.metadata.name], worker.instance))
        return {room.name: room for room in rooms}

    def _with_devices(self, room: Room) -> Room:
        """A node that joined just now is expected to tell of its GPUs: no other is asked for meanwhile."""
        worker = self._worker_of.get(room.instance_id)
        if worker is None or not self._is_young(worker):
            return room
        free = expected(room.free, self._shapes.get(worker.instance.instance_type))
        return room if free is room.free else structs.replace(room, free=free)

    def _is_young(self, worker: Worker) -> bool:
        return self._at_s - worker.instance.launched_s < DEVICES_WITHIN_S

    @cached_property
    def topology(self) -> Topology:
        """Where all pods are, on nodes that offer no room now too."""
        nodes = [*self._other_nodes, *self._nodes.values()]
        return Topology(
            ((_place(node), self._infos[node.metadata.name]) for node in nodes),
            self._refused.asking,
            self._namespaces,
            self._volumes,
        )

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        every_node_runs = self._infos.daemons
        of_fleet = self._settings.max_workers - sum(worker.alive for worker in self._workers)
        return tuple(
            candidate(
                pool,
                settings=self._settings,
                shapes=self._shapes,
                zones=[place.zone for place in self._places if place.pool == pool.name],
                known=self._known(pool.name),
                every_node_runs=every_node_runs,
                more=min(of_fleet, self._more(pool)),
                types=self._types.get(pool.name),
                usd=self._usd,
            )
            for pool in self._settings.pools
        )

    def _more(self, pool: Pool) -> int:
        """How many more it may have by its own limits."""
        living = [w.instance.instance_type for w in self._workers if w.alive and w.instance.pool == pool.name]
        more = pool.max_workers - len(living)
        types = self._types.get(pool.name, pool.instance_types)
        new = [shape for kind in types if (shape := self._shapes.get(kind)) is not None]
        there = [shape for kind in living if (shape := self._shapes.get(kind)) is not None]
        if new and pool.vcpus_max:
            left = pool.vcpus_max * 1_000 - sum(shape.cpu_m for shape in there)
            more = min(more, left // min(shape.cpu_m for shape in new))
        if new and pool.memory_gib_max:
            left = (pool.memory_gib_max << 30) - sum(shape.memory for shape in there)
            more = min(more, left // min(shape.memory for shape in new))
        return more

    def _known(self, pool: str) -> list[Known]:
        return [
            Known(self._nodes[w.instance_id], w.instance, self._is_young(w))
            for w in self._workers
            if w.alive and w.ready and not w.joining and w.instance.pool == pool
        ]

    def _coming(self, on_its_way: int) -> list[Room]:
        """As many empty nodes, those whose machines are seen already first."""
        pools = {candidate.pool: candidate.rooms for candidate in self.candidates if candidate.rooms}
        coming = [
            _like(pools[w.instance.pool], w)
            for w in self._workers
            if w.alive and (w.joining or not w.node_name) and w.instance.pool in pools
        ]
        if pools:
            first = min(next(iter(pools.values())), key=lambda room: (room.free.cpu_m, room.free.memory))
            coming += [named(first, f"a node on its way ({n + 1})") for n in range(len(coming), on_its_way)]
        return coming[:on_its_way]

    def is_empty(self, instance_id: str) -> bool:
        node = self._nodes.get(instance_id)
        return node is not None and not remaining(self.pods_on(node.metadata.name))

    def is_occupied(self, instance_id: str) -> bool:
        return instance_id in self._nodes and not self.is_empty(instance_id)

    def must_stay(self, instance_id: str) -> str:
        if instance_id not in self._stay:
            alone = frozenset({instance_id})
            self._stay[instance_id] = self.stays_put(instance_id) or self.fits_without(alone, frozenset())
        return self._stay[instance_id]

    def stays_put(self, instance_id: str) -> str:
        reasons = self.standing(instance_id) or self.blockers(instance_id)
        return str(reasons[0]) if reasons else ""

    def fits_on_new(self, instance_id: str) -> str:
        worker, node = self._worker_of.get(instance_id), self._nodes.get(instance_id)
        if worker is None or node is None:
            return ""
        return "" if self.types_for(instance_id) else self._replaceable[instance_id][1]

    def types_for(self, instance_id: str) -> tuple[str, ...]:
        """The types of its pool of which a new node in its zone would let its pods move, cheapest first."""
        if instance_id not in self._replaceable:
            self._replaceable[instance_id] = self._types_for(instance_id)
        return self._replaceable[instance_id][0]

    def _types_for(self, instance_id: str) -> tuple[tuple[str, ...], str]:
        machine, node = self._worker_of[instance_id].instance, self._nodes[instance_id]
        pool = next((each for each in self.candidates if each.pool == machine.pool), None)
        new = [room for room in pool.rooms if room.zone == machine.zone] if pool else []
        why = pool.problem if pool and pool.problem else f"no new node can come in zone {machine.zone}"
        rooms = [room for room in self.rooms.values() if room.instance_id != instance_id]
        pods, types = to_evict(self.pods_on(node.metadata.name)), list[str]()
        for room in sorted(new, key=lambda room: room.usd)[:TYPES_NAMED_MAX]:
            with self.topology.trial():
                self.topology.add_node(room)
                misfit = unplaceable(pods, [*rooms, room], self.topology) if pods else ""
            types += [] if misfit else [room.instance_type]
            why = misfit or why
        return tuple(types), why

    def used(self, instance_id: str) -> float:
        """The part of what its node offers that pods ask for which would have to move."""
        node = self._nodes.get(instance_id)
        if node is None:
            return 1.0
        there, asked = amount_of(node.status.allocatable), Amount()
        for pod in remaining(self.pods_on(node.metadata.name)):
            asked = asked + requests_of(pod)
        return max(asked.cpu_m / max(1, there.cpu_m), asked.memory / max(1, there.memory))

    def standing(self, instance_id: str) -> tuple[Blocker, ...]:
        """What of the machine itself keeps it."""
        worker, node = self._worker_of.get(instance_id), self._nodes.get(instance_id)
        found: list[Blocker] = []
        if worker is None or not worker.ours:
            found.append(fleet_blockers.not_ours())
        if node is not None and is_control_plane(node):
            found.append(fleet_blockers.control_plane())
        if node is not None and is_cordoned_by_a_person(node):
            found.append(fleet_blockers.cordoned(node.metadata.name))
        if node is not None:
            found += [fleet_blockers.disabled(node.metadata.name, name) for name in kept_by_annotation(node)]
        return tuple(found)

    def blockers(self, instance_id: str) -> tuple[Blocker, ...]:
        """Every pod that keeps the node from being drained, with its rule."""
        node = self._nodes.get(instance_id)
        pods = self.pods_on(node.metadata.name) if node is not None else ()
        return blockers(pods, self._budgets, self._settings.drain)

    @cached_property
    def _budgets(self) -> Budgets:
        return Budgets(self._all_budgets)

    def fits_without(self, leaving: frozenset[str], closed: frozenset[str]) -> str:
        if (leaving, closed) not in self._unplaceable:
            names = [self._nodes[each].metadata.name for each in sorted(leaving) if each in self._nodes]
            pods = [pod for name in names for pod in to_evict(self.pods_on(name))]
            shut = leaving | closed
            rooms = (room for room in self.rooms.values() if room.instance_id not in shut)
            why = ""
            if pods or self._spares:
                topology = self.topology if pods else Topology()
                why = unplaceable(pods, rooms, topology, self._spares, self._spare_missing)
            self._unplaceable[leaving, closed] = why
        return self._unplaceable[leaving, closed]


def _like(rooms: Sequence[Room], worker: Worker) -> Room:
    zone, kind = worker.instance.zone, worker.instance.instance_type
    alike = [room for room in rooms if room.instance_type == kind] or rooms
    room = next((room for room in alike if room.zone == zone), alike[0])
    return structs.replace(named(room, worker.node_name or worker.instance_id), zone=zone)


def _place(node: KubeNode) -> Room:
    """The node as rules between pods see it."""
    return Room(name=node.metadata.name, free=Amount(), labels=node.metadata.labels, taints=node.spec.taints)
