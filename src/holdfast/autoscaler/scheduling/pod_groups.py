"""Pods that differ in nothing that decides where they may run: considered once, placed by arithmetic."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter

import msgspec

from holdfast.autoscaler.scale_down.drain import SAFE_TO_EVICT, controller_of
from holdfast.autoscaler.scheduling.fit import (
    Doubt,
    HostPort,
    Room,
    doubts,
    host_ports,
    is_vouched_for,
    misfit,
    not_for_us_to_place,
    taken_port,
)
from holdfast.autoscaler.scheduling.terms import NO_RULES, PodRules
from holdfast.autoscaler.scheduling.topology import PodClass, Topology
from holdfast.autoscaler.scheduling.topology.asked import Asked
from holdfast.autoscaler.scheduling.volumes.needs import VolumeDoubt
from holdfast.cloud.kubernetes import Pod, PodSpec
from holdfast.cloud.requests import Amount, requests_of
from holdfast.cloud.volumes import has_claims

_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True, eq=False)
class PodGroup:
    pods: tuple[Pod, ...]
    wants: Amount
    """Of one."""
    doubts: tuple[Doubt | VolumeDoubt, ...]
    ports: frozenset[HostPort]
    rules: PodRules = NO_RULES
    """What they ask of other pods."""

    @property
    def example(self) -> Pod:
        return self.pods[0]

    @property
    def called(self) -> str:
        others = len(self.pods) - 1
        return f"{self.example.called} and {others} like it" if others else self.example.called

    @property
    def owner(self) -> str:
        """What made them, as people write it."""
        return owner_of(self.example)


def owner_of(pod: Pod) -> str:
    owner = controller_of(pod)
    return f"{pod.metadata.namespace}/{owner.kind} {owner.name}" if owner else pod.called


def group_pods(pods: Iterable[Pod], topology: Topology) -> list[PodGroup]:
    """The pods in groups, in the order of their first."""
    groups: dict[tuple[bytes, PodClass | None], list[Pod]] = {}
    lately: list[tuple[object, list[Pod]]] = []
    is_idle = topology.is_idle
    for pod in pods:
        # One that says the same as one before goes with it, without a key of its own.
        said = _said(pod.spec) if is_idle and _says_all_in_its_spec(pod) else None
        for before, members in lately if said is not None else ():
            if said == before:
                members.append(pod)
                break
        else:
            # Labels decide only where some rule asks for them.
            alike = None if is_idle else topology.class_of(pod)
            members = groups.setdefault((_key(pod), alike), [])
            members.append(pod)
            if said is not None:
                lately.insert(0, (said, members))
                del lately[LATELY_MAX:]
    return [_group(tuple(group), topology) for group in groups.values()]


LATELY_MAX = 4
"""Pods of one owner are listed together, or in turn with a few others."""


def _says_all_in_its_spec(pod: Pod) -> bool:
    """Without rules and claims, of which the scheduler may say more, and without a person's word."""
    spec = pod.spec
    if spec.affinity is not None or spec.topology_spread_constraints or spec.resource_claims:
        return False
    for volume in spec.volumes:
        if volume.persistent_volume_claim is not None or volume.ephemeral is not None:
            return False
    return SAFE_TO_EVICT not in pod.metadata.annotations


_said: Callable[[PodSpec], object] = attrgetter(
    "containers",
    "init_containers",
    "resources",
    "overhead",
    "node_selector",
    "tolerations",
    "scheduler_name",
    "scheduling_gates",
)
"""All that makes the key of such a pod."""


def _group(pods: tuple[Pod, ...], topology: Topology) -> PodGroup:
    example, rules = pods[0], topology.rules_of(pods[0])
    return PodGroup(pods, requests_of(example), doubts(example, rules), host_ports(example), rules)


def _key(pod: Pod) -> bytes:
    """Names of volumes and claims differ within a set of replicas, and decide nothing by themselves."""
    spec = pod.spec
    return _encode(
        (
            spec.containers,
            spec.init_containers,
            spec.resources,
            spec.overhead,
            spec.node_selector,
            spec.affinity,
            spec.tolerations,
            spec.topology_spread_constraints,
            has_claims(pod),
            spec.scheduler_name,
            spec.scheduling_gates,
            len(spec.resource_claims),
            is_vouched_for(pod),
            not_for_us_to_place(pod),
            owner_of(pod) if doubts(pod) else "",
        )
    )


def largest_first(groups: list[PodGroup]) -> list[PodGroup]:
    """By their CPU and memory together, each beside the greediest's: small ones fill the gaps."""
    cpu_m = max([1, *(group.wants.cpu_m for group in groups)])
    memory = max([1, *(group.wants.memory for group in groups)])

    def share(group: PodGroup) -> float:
        return group.wants.cpu_m / cpu_m + group.wants.memory / memory

    return sorted(groups, key=share, reverse=True)


def greediest_first(groups: Iterable[PodGroup], node: Amount) -> list[PodGroup]:
    """By the greatest share of such a node that one of them takes of anything."""

    def share(group: PodGroup) -> float:
        wants = group.wants
        return max(wants.cpu_m / max(1, node.cpu_m), wants.memory / max(1, node.memory))

    return sorted(groups, key=share, reverse=True)


@dataclass(frozen=True, slots=True)
class Placed:
    """So many pods of a kind on the node of this name."""

    room: str
    count: int


class NodeBin:
    """A node while pods are being put on it."""

    __slots__ = ("free", "ports", "room")

    def __init__(self, room: Room) -> None:
        self.room, self.free, self.ports = room, room.free, room.ports

    def fits(self, group: PodGroup, most: int) -> int:
        """How many more of them there is room for."""
        most = group.wants.times_within(self.free, most)
        if group.ports:
            most = 0 if taken_port(group.ports, self.ports) else min(most, 1)
        return most

    def put(self, group: PodGroup, count: int) -> Placed:
        self.free = self.free - group.wants * count
        self.ports = self.ports | group.ports
        return Placed(self.room.name, count)


class NodeBins:
    """Nodes that are being filled, in their order; none is touched before it is needed."""

    def __init__(self, rooms: Iterable[Room]) -> None:
        self._begun: list[NodeBin] = []
        self._rooms = iter(rooms)

    def __iter__(self) -> Iterator[NodeBin]:
        yield from self._begun
        for room in self._rooms:
            node_bin = NodeBin(room)
            self._begun.append(node_bin)
            yield node_bin


def fill(
    group: PodGroup, node_bins: Iterable[NodeBin], topology: Topology, *, vouched: bool = False
) -> tuple[tuple[Placed, ...], int]:
    """Put the pods on the first of these nodes that take them.  Where, and how many are left."""
    asked = topology.asked(group.example)
    if asked is not None:
        return _fill_one_by_one(group, node_bins, topology, asked, vouched)
    placed, left = [], len(group.pods)
    for node_bin in node_bins:
        # The amounts first: they are the cheaper question.
        count = node_bin.fits(group, left)
        if count and not misfit(group.example, node_bin.room, vouched=vouched, rules=group.rules):
            placed.append(put(group, count, node_bin, topology))
            left -= count
            if not left:
                break
    return tuple(placed), left


def put(group: PodGroup, count: int, node_bin: NodeBin, topology: Topology) -> Placed:
    if not topology.is_idle:
        topology.put(node_bin.room.name, topology.class_of(group.example), count)
    return node_bin.put(group, count)


def _fill_one_by_one(
    group: PodGroup, node_bins: Iterable[NodeBin], topology: Topology, asked: Asked, vouched: bool
) -> tuple[tuple[Placed, ...], int]:
    """Each pod that is placed changes where the next may go: round after round, until none is placed."""
    example, rules, wants = group.example, group.rules, group.wants.cpu_m
    unfit: set[str] = set()
    counts: Counter[str] = Counter()
    left, before = len(group.pods), -1
    while left and left != before:
        before = left
        for node_bin in node_bins:
            # The amounts first: they are the cheaper question.
            if wants > node_bin.free.cpu_m and wants:
                continue
            room = node_bin.room
            if room.name in unfit or not node_bin.fits(group, 1) or asked.refusal(room):
                continue
            if misfit(example, room, vouched=vouched, rules=rules):
                unfit.add(room.name)
                continue
            while left and node_bin.fits(group, 1) and not asked.refusal(room):
                put(group, 1, node_bin, topology)
                counts[room.name] += 1
                left -= 1
            if not left:
                break
    return tuple(Placed(room, count) for room, count in counts.items()), left
