"""Pods that differ in nothing that decides where they may run: considered once, placed by arithmetic."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from holdfast.autoscaler.scheduling.fit import (
    Doubt,
    Room,
    doubts,
    has_claims,
    host_ports,
    is_vouched_for,
    misfit,
)
from holdfast.cloud.kubernetes import Pod
from holdfast.cloud.requests import Amount, requests_of

_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True, eq=False)
class PodGroup:
    pods: tuple[Pod, ...]
    wants: Amount
    """Of one."""
    doubts: tuple[Doubt, ...]
    ports: frozenset[int]

    @property
    def example(self) -> Pod:
        return self.pods[0]

    @property
    def called(self) -> str:
        others = len(self.pods) - 1
        return f"{self.example.called} and {others} like it" if others else self.example.called

    @property
    def apart(self) -> bool:
        """Perhaps no two of them may share a node."""
        return Doubt.ANTI_AFFINITY in self.doubts


def group_pods(pods: Iterable[Pod]) -> list[PodGroup]:
    """The pods in groups, in the order of their first."""
    groups: dict[bytes, list[Pod]] = {}
    for pod in pods:
        groups.setdefault(_key(pod), []).append(pod)
    return [
        PodGroup(tuple(group), requests_of(group[0]), doubts(group[0]), host_ports(group[0]))
        for group in groups.values()
    ]


def _key(pod: Pod) -> bytes:
    """Names of volumes and claims differ within a set of replicas, and decide nothing here."""
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
        )
    )


def largest_first(groups: list[PodGroup]) -> list[PodGroup]:
    """By their CPU and memory together, each beside the greediest's: small ones fill the gaps."""
    cpu_m = max([1, *(group.wants.cpu_m for group in groups)])
    memory = max([1, *(group.wants.memory for group in groups)])

    def share(group: PodGroup) -> float:
        return group.wants.cpu_m / cpu_m + group.wants.memory / memory

    return sorted(groups, key=share, reverse=True)


@dataclass(frozen=True, slots=True)
class Placed:
    """So many pods of a kind on the node of this name."""

    room: str
    count: int


class NodeBin:
    """A node while pods are being put on it."""

    __slots__ = ("apart", "free", "ports", "room")

    def __init__(self, room: Room) -> None:
        self.room, self.free, self.ports = room, room.free, room.ports
        self.apart = False

    def fits(self, group: PodGroup, most: int) -> int:
        """How many more of them there is room for."""
        most = group.wants.times_within(self.free, most)
        if group.ports:
            most = 0 if group.ports & self.ports else min(most, 1)
        if group.apart and self.room.new:
            most = 0 if self.apart else min(most, 1)
        return most

    def put(self, group: PodGroup, count: int) -> Placed:
        self.free = self.free - group.wants * count
        self.ports = self.ports | group.ports
        self.apart = self.apart or group.apart
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
    group: PodGroup, node_bins: Iterable[NodeBin], *, vouched: bool = False
) -> tuple[tuple[Placed, ...], int]:
    """Put the pods on the first of these nodes that take them.  Where, and how many are left."""
    placed, left = [], len(group.pods)
    for node_bin in node_bins:
        # The amounts first: they are the cheaper question.
        count = node_bin.fits(group, left)
        if count and not misfit(group.example, node_bin.room, vouched=vouched):
            placed.append(node_bin.put(group, count))
            left -= count
            if not left:
                break
    return tuple(placed), left
