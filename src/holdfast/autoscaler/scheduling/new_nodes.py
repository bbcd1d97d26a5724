"""The new nodes that pods ask for, when nothing that stands or comes has room for them.

A pod that has a doubt about it (see `fit`) opens one at most, and none in a zone where a node
like it stands empty: the scheduler did not use that one either.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from holdfast.autoscaler.scheduling.fit import Room, misfit, named, shortage, unmatched
from holdfast.autoscaler.scheduling.pod_groups import NodeBin, Placed, PodGroup, put
from holdfast.autoscaler.scheduling.topology import Topology
from holdfast.autoscaler.scheduling.topology.asked import Asked
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
    in_vain: bool = False
    """A node as it would bring one stands empty, and the scheduler did not use that."""


class _NewNode(NodeBin):
    __slots__ = ("zones",)

    def __init__(self, room: Room, zones: frozenset[str]) -> None:
        super().__init__(room)
        self.zones = zones
        """Where it may still be made: each pod that is put on it may narrow that."""


class Pool:
    """A candidate, and the nodes that were opened of it."""

    def __init__(self, candidate: Candidate, rooms: Iterable[Room], limit: int, topology: Topology) -> None:
        self.candidate, self._limit, self._topology = candidate, limit, topology
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
                why = f"{name} stands empty, and the scheduler put it not even there"
                return Taken(left=left, why=why, in_vain=True)
            zones -= idle.keys()
        placed = self._place(group, zones, left)
        left -= sum(each.count for each in placed)
        if placed:
            self._groups.append(group)
        if not left:
            return Taken(placed)
        if len(self._opened) < self._limit:
            return Taken(placed, left, self._why_not(group, zones), could=bool(placed))
        return Taken(
            placed, left, f"pool {self.candidate.pool} would have to scale up by more than {self._limit}"
        )

    def _place(self, group: PodGroup, zones: frozenset[str], left: int) -> tuple[Placed, ...]:
        """On nodes that were opened before, then on others."""
        asked, counts, before = self._topology.asked(group.example), Counter[str](), -1
        while left and left != before:
            before = left
            for node in self._opened:
                left -= self._put(group, node, zones, left, asked, counts)
            while left and (new := self._open(zones, asked)) is not None:
                left -= self._put(group, new, zones, left, asked, counts)
                if asked is not None:
                    break  # what was put on it may let those before take more
        return tuple(Placed(room, count) for room, count in counts.items())

    def _put(
        self,
        group: PodGroup,
        node: _NewNode,
        zones: frozenset[str],
        left: int,
        asked: Asked | None,
        counts: Counter[str],
    ) -> int:
        """As many as the node takes: all at once, or one by one where each changes what the next may do."""
        if not node.zones & zones or (asked is not None and node.room.zone not in zones):
            return 0
        most, done = (left if asked is None else 1), 0
        while done < left and (count := node.fits(group, most)):
            if asked is not None and asked.refusal(node.room):
                break
            node.zones &= {node.room.zone} if self._topology.is_tied(group.example) else zones
            put(group, count, node, self._topology)
            counts[node.room.name] += count
            done += count
            if asked is None:
                break
        return done

    def _open(self, zones: frozenset[str], asked: Asked | None) -> _NewNode | None:
        """A new node in the zone that got the fewest, of those that will do."""
        if len(self._opened) >= self._limit:
            return None
        name = f"new node {len(self._opened) + 1} of pool {self.candidate.pool}"
        rooms = self.candidate.rooms
        if asked is not None:
            there = Counter(node.room.zone for node in self._opened)
            rooms = tuple(sorted(rooms, key=lambda room: there[room.zone]))
        for room in rooms:
            if room.zone not in zones:
                continue
            mark = self._topology.mark
            node = _NewNode(named(room, name), zones)
            self._topology.add_node(node.room)
            if asked is None or not asked.refusal(node.room):
                self._opened.append(node)
                return node
            self._topology.undo(mark)
        return None

    def _why_not(self, group: PodGroup, zones: frozenset[str]) -> str:
        """Why a further new node would not take the pod either."""
        asked, room = self._topology.asked(group.example), self.candidate.rooms[0]
        room = next((each for each in self.candidate.rooms if each.zone in zones), room)
        mark = self._topology.mark
        self._topology.add_node(named(room, "one more node"))
        why = asked.refusal(named(room, "one more node")) if asked is not None else ""
        self._topology.undo(mark)
        return why or "there is no room on a new node"

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
    return misfit(group.example, room, rules=group.rules) or shortage(group.wants, room.free)


def _stands_idle(room: Room, candidate: Candidate) -> bool:
    """A node as this pool would bring it, in service, with nothing on it."""
    return not room.new and room.empty and room.ready and not room.cordoned and room.pool == candidate.pool


def _could_run(group: PodGroup, room: Room) -> bool:
    return not unmatched(group.example, room) and not shortage(group.wants, room.free)


def in_order(
    candidates: Sequence[Candidate], rooms: Sequence[Room], limit: int, topology: Topology
) -> list[Pool]:
    """As the settings list them; those that may not scale up any more are asked last."""
    by_preference = sorted(candidates, key=lambda candidate: candidate.more <= 0)
    return [Pool(candidate, rooms, limit, topology) for candidate in by_preference]
