"""The new nodes that pods ask for, when nothing that stands or comes has room for them.

A pod that has a doubt about it (see `fit`) opens one at most, and none in a zone where a node
like it stands empty: the scheduler did not use that one either.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from holdfast.autoscaler.scheduling.fit import Room, misfit, shortage, unmatched
from holdfast.autoscaler.scheduling.pod_groups import NodeBin, Placed, PodGroup
from holdfast.autoscaler.snapshot import Need


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pool that may scale up."""

    pool: str
    rooms: tuple[Room, ...]
    """What one new node of it would offer, in each zone.  None: `problem` says why."""
    more: int = 1_000
    """How many more the pool may have.  Pools that are full come last."""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a pool takes of a group, and why no more."""

    placed: tuple[Placed, ...] = ()
    left: int = 0
    why: str = ""
    could: bool = True
    """Whether a new node of it could run such a pod at all."""


class _NewNode(NodeBin):
    __slots__ = ("zones",)

    def __init__(self, room: Room, zones: frozenset[str]) -> None:
        super().__init__(room)
        self.zones = zones
        """Where it may still be made: each pod that is put on it may narrow that."""


class Pool:
    """A candidate, and the nodes that were opened of it."""

    def __init__(self, candidate: Candidate, rooms: Iterable[Room], limit: int) -> None:
        self.candidate, self._limit = candidate, limit
        self._everywhere = frozenset(room.zone for room in candidate.rooms)
        self._idle = [room for room in rooms if _stands_idle(room, candidate)]
        self._opened: list[_NewNode] = []
        self._groups: list[PodGroup] = []

    def take(self, group: PodGroup, left: int) -> Taken:
        refusals = {room.zone: refusal_of(group, room) for room in self.candidate.rooms}
        zones = frozenset(zone for zone, why in refusals.items() if not why)
        if not zones:
            why = next(iter(refusals.values()), self.candidate.problem)
            return Taken(left=left, why=why, could=False)
        if group.doubts:
            idle = {room.zone: room.name for room in self._idle if _could_run(group, room)}
            if zones <= idle.keys():
                name = idle[min(zones)]
                return Taken(left=left, why=f"{name} stands empty, and the scheduler put it not even there")
            zones -= idle.keys()
        placed = [*self._on_opened(group, zones, left)]
        left -= sum(each.count for each in placed)
        while left and len(self._opened) < self._limit:
            node = self._open(zones)
            placed.append(node.put(group, node.fits(group, left)))
            left -= placed[-1].count
        if placed:
            self._groups.append(group)
        why = f"pool {self.candidate.pool} would have to scale up by more than {self._limit}" if left else ""
        return Taken(tuple(placed), left, why)

    def _open(self, zones: frozenset[str]) -> _NewNode:
        room = next(room for room in self.candidate.rooms if room.zone in zones)
        name = f"new node {len(self._opened) + 1} of pool {self.candidate.pool}"
        self._opened.append(_NewNode(replace(room, name=name), zones))
        return self._opened[-1]

    def _on_opened(self, group: PodGroup, zones: frozenset[str], left: int) -> Iterable[Placed]:
        for node in self._opened:
            count = node.fits(group, left) if node.zones & zones else 0
            if count:
                node.zones &= zones
                yield node.put(group, count)
                left -= count
            if not left:
                return

    def opened(self) -> tuple[Room, ...]:
        """As they were before anything was put on them, each in a zone that suits all on it."""
        return tuple(
            replace(
                next(room for room in self.candidate.rooms if room.zone in node.zones), name=node.room.name
            )
            for node in self._opened
        )

    def needs(self, there: Counter[str]) -> tuple[Need, ...]:
        """`there`: how many nodes each zone has; the emptiest that will do is asked for."""
        counts: Counter[str] = Counter()
        for node in self._opened:
            zone = ""
            if node.zones != self._everywhere:
                zone = min(node.zones, key=lambda zone: (there[zone], zone))
                there[zone] += 1
            counts[zone] += 1
        return tuple(
            Need(self.candidate.pool, count, self._why(), zone) for zone, count in sorted(counts.items())
        )

    def _why(self) -> str:
        first, others = self._groups[0].called, len(self._groups) - 1
        return f"{first}, and {others} more kinds of pods" if others else first


def refusal_of(group: PodGroup, room: Room) -> str:
    return misfit(group.example, room) or shortage(group.wants, room.free)


def _stands_idle(room: Room, candidate: Candidate) -> bool:
    """A node as this pool would bring it, in service, with nothing on it."""
    return not room.new and room.empty and room.ready and not room.cordoned and room.pool == candidate.pool


def _could_run(group: PodGroup, room: Room) -> bool:
    return not unmatched(group.example, room) and not shortage(group.wants, room.free)


def in_order(candidates: Sequence[Candidate], rooms: Sequence[Room], limit: int) -> list[Pool]:
    """As the settings list them; those that may not scale up any more are asked last."""
    by_preference = sorted(candidates, key=lambda candidate: candidate.more <= 0)
    return [Pool(candidate, rooms, limit) for candidate in by_preference]
