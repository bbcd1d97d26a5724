"""Nodes while pods are being put on them: first fit, in the order of the nodes."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from holdfast.autoscaler.scheduling.fit import Room, misfit, taken_port
from holdfast.autoscaler.scheduling.pod_groups import PodGroup
from holdfast.autoscaler.scheduling.topology import Topology
from holdfast.autoscaler.scheduling.topology.asked import Asked


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
        self._roomy: dict[int, Roomy] = {}
        """By the bits of the CPU that they have free at least."""

    def __iter__(self) -> Iterator[NodeBin]:
        return self.after(0)

    def after(self, count: int) -> Iterator[NodeBin]:
        """All but the first so many."""
        yield from self._begun[count:]
        for room in self._rooms:
            node_bin = NodeBin(room)
            self._begun.append(node_bin)
            yield node_bin

    def roomy_for(self, group: PodGroup) -> Iterable[NodeBin]:
        """Without most of those that have too little CPU for one of these pods."""
        bits = group.wants.cpu_m.bit_length()
        if bits not in self._roomy:
            self._roomy[bits] = Roomy(self, (1 << bits) >> 1)
        return self._roomy[bits]


class Roomy:
    """The nodes that had so much CPU free when they were looked at first: later they have no more."""

    def __init__(self, of: NodeBins, cpu_m: int) -> None:
        self._of, self._cpu_m = of, cpu_m
        self._found: list[NodeBin] = []
        self._seen = 0

    def __iter__(self) -> Iterator[NodeBin]:
        yield from self._found
        for node_bin in self._of.after(self._seen):
            self._seen += 1
            if node_bin.free.cpu_m >= self._cpu_m or not self._cpu_m:
                self._found.append(node_bin)
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
