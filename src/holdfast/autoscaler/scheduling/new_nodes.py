"""The new nodes that pods ask for, when nothing that stands or comes has room for them.

A pod that has a doubt about it (see `fit`) opens one at most, and none in a zone where a node
like it stands empty: the scheduler did not use that one either.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from holdfast.autoscaler.scheduling.fit import Room, misfit, named, shortage, unmatched
from holdfast.autoscaler.scheduling.machines.choice import NONE_WAIT, Choice, Chosen, Kind, Waiting
from holdfast.autoscaler.scheduling.node_bins import NodeBin, Placed, put
from holdfast.autoscaler.scheduling.pod_groups import PodGroup
from holdfast.autoscaler.scheduling.topology import Topology
from holdfast.autoscaler.scheduling.topology.asked import Asked
from holdfast.autoscaler.snapshot import Need
from holdfast.cloud import Market
from holdfast.cloud.requests import Amount

WORTHWHILE: Final = 0.97
"""Another plan is tried if it may cost so much less."""
TYPES_NAMED_MAX: Final = 12
"""So many types a request names: the record must hold them."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pool that may scale up."""

    pool: str
    rooms: tuple[Room, ...]
    """What one new node of it would offer, of each type and in each zone.  None: `problem` says why."""
    more: int = 1_000
    """How many more the pool may have.  Pools that are full come last."""
    problem: str = ""
    weight: int = 0
    """Pools of a greater weight come first, whatever they cost."""
    market: Market = Market.SPOT
    """Where it asks first."""


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


@dataclass(frozen=True, slots=True)
class Suited:
    """Where a pool's new nodes would take pods of a group, and if nowhere, why."""

    zones: frozenset[str] = frozenset()
    why: str = ""
    could: bool = True
    in_vain: bool = False


class _NewNode(NodeBin):
    __slots__ = ("kinds", "zones")

    def __init__(self, room: Room, zones: frozenset[str]) -> None:
        super().__init__(room)
        self.kinds: tuple[Kind, ...] = ()
        """Those that hold what was put on it, once all was."""
        self.zones = zones
        """Where it may still be made: each pod that is put on it may narrow that."""

    @property
    def used(self) -> Amount:
        used = self.room.free - self.free
        extended = tuple(each for each in used.extended if each[1])
        return Amount(used.cpu_m, used.memory, used.pods, extended)


class Pool:
    """A candidate, and the nodes that were opened of it."""

    def __init__(
        self,
        candidate: Candidate,
        rooms: Iterable[Room],
        limit: int,
        topology: Topology,
        offerings_min: int = 1,
        preferred: str = "",
    ) -> None:
        """`preferred`: the type that is taken wherever it will do."""
        self.candidate, self._limit, self._topology = candidate, limit, topology
        self._choice = Choice(candidate.rooms, offerings_min, preferred)
        self._zones = tuple(dict.fromkeys(room.zone for room in candidate.rooms))
        self._everywhere = frozenset(self._zones)
        self._idle = [room for room in rooms if _stands_idle(room, candidate)]
        self._opened: list[_NewNode] = []
        self._groups: list[PodGroup] = []
        self._suits: dict[int, Suited] = {}
        self._offerings_min = offerings_min
        self._holding: dict[tuple[Amount, str], tuple[Kind, ...]] = {}
        self._chosen: tuple[PodGroup, str, Chosen] | None = None

    def suits(self, group: PodGroup) -> Suited:
        if id(group) not in self._suits:
            self._suits[id(group)] = self._suited(group)
        return self._suits[id(group)]

    def may_take(self, group: PodGroup) -> bool:
        return bool(self.suits(group).zones)

    def _suited(self, group: PodGroup) -> Suited:
        largest, zones, whys = self._choice.largest_first, set[str](), list[str]()
        for zone in self._zones:
            rooms = (kind.rooms[zone] for kind in largest if zone in kind.rooms)
            room = next(rooms)
            why = misfit(group.example, room, rules=group.rules)
            if not why and (why := shortage(group.wants, room.free)):
                why = next(("" for each in rooms if not shortage(group.wants, each.free)), why)
            if why:
                whys.append(why)
            else:
                zones.add(zone)
        if not zones:
            return Suited(why=next(iter(whys), self.candidate.problem), could=False)
        if group.doubts:
            idle = {room.zone: room.name for room in self._idle if _could_run(group, room)}
            if zones <= idle.keys():
                name = idle[min(zones)]
                return Suited(
                    why=f"{name} stands empty, and the scheduler put it not even there", in_vain=True
                )
            zones -= idle.keys()
        return Suited(frozenset(zones))

    def usd_per_worth(self, group: PodGroup, left: int, waiting: Waiting) -> float:
        """What the best machine of this pool would cost, for what it would hold."""
        zones = self.suits(group).zones
        chosen = [self._best(group, left, zone, waiting) for zone in self._zones if zone in zones][:1]
        return min((each.usd_per_worth for each in chosen if each is not None), default=float("inf"))

    def take(self, group: PodGroup, left: int, waiting: Waiting = NONE_WAIT, *, opens: bool = True) -> Taken:
        """On nodes that were opened before, then on others.  Without `opens`: only on those."""
        suited = self.suits(group)
        if not left:
            return Taken()
        if not suited.zones:
            return Taken(left=left, why=suited.why, could=suited.could, in_vain=suited.in_vain)
        zones = suited.zones
        placed = self._place(group, zones, left, waiting, opens=opens)
        left -= sum(each.count for each in placed)
        if placed and (not self._groups or self._groups[-1] is not group):
            self._groups.append(group)
        if not left or not opens:
            return Taken(placed, left)
        if len(self._opened) < self._limit:
            return Taken(placed, left, self._why_not(group, zones), could=bool(placed))
        return Taken(
            placed, left, f"pool {self.candidate.pool} would have to scale up by more than {self._limit}"
        )

    def _place(
        self, group: PodGroup, zones: frozenset[str], left: int, waiting: Waiting, *, opens: bool
    ) -> tuple[Placed, ...]:
        asked, counts, before = self._topology.asked(group.example), Counter[str](), -1
        while left and left != before:
            before = left
            cpu_m, memory = group.wants.cpu_m, group.wants.memory
            for node in self._opened:
                # The amounts first, and without a call: most nodes that were opened before are full.
                if left and node.free.cpu_m >= cpu_m and node.free.memory >= memory:
                    left -= self._put(group, node, zones, left, asked, counts)
            while opens and left and (new := self._open(group, left, zones, asked, waiting)) is not None:
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

    def _open(
        self, group: PodGroup, left: int, zones: frozenset[str], asked: Asked | None, waiting: Waiting
    ) -> _NewNode | None:
        """A new node in the zone that got the fewest, of those that will do."""
        if len(self._opened) >= self._limit:
            return None
        name = f"new node {len(self._opened) + 1} of pool {self.candidate.pool}"
        in_order: Sequence[str] = self._zones
        if asked is not None:
            there = Counter(node.room.zone for node in self._opened)
            in_order = sorted(in_order, key=lambda zone: there[zone])
        for zone in in_order:
            chosen = self._best(group, left, zone, waiting) if zone in zones else None
            if chosen is None:
                continue
            mark = self._topology.mark
            node = _NewNode(named(chosen.kind.rooms[zone], name), zones)
            self._topology.add_node(node.room)
            if asked is None or not asked.refusal(node.room):
                self._opened.append(node)
                return node
            self._topology.undo(mark)
        return None

    def _best(self, group: PodGroup, left: int, zone: str, waiting: Waiting) -> Chosen | None:
        """Chosen once for nodes that will be full of the same."""
        if self._chosen is not None:
            of, where, chosen = self._chosen
            if of is group and where == zone and left >= chosen.fits:
                return chosen
        most = max(1, min(self._limit, self.candidate.more) - len(self._opened))
        found = self._choice.best(group, left, zone, waiting, most, self.may_take)
        if found is not None:
            self._chosen = group, zone, found
        return found

    def _why_not(self, group: PodGroup, zones: frozenset[str]) -> str:
        """Why a further new node would not take the pod either."""
        asked, room = self._topology.asked(group.example), self.candidate.rooms[0]
        room = next((each for each in self.candidate.rooms if each.zone in zones), room)
        mark = self._topology.mark
        self._topology.add_node(named(room, "one more node"))
        why = asked.refusal(named(room, "one more node")) if asked is not None else ""
        self._topology.undo(mark)
        return why or "there is no room on a new node"

    @property
    def used(self) -> Amount:
        """All that was put on its new nodes."""
        return sum((node.used for node in self._opened), Amount())

    def bounds(self, used: Amount) -> Iterator[tuple[float, Kind]]:
        """For each type what as much would cost on it at the least, were it one piece after the other."""
        for kind in self._choice.kinds:
            most = (
                (kind.least.cpu_m, used.cpu_m),
                (kind.least.memory, used.memory),
                (kind.least.pods, used.pods),
            )
            if all(has > 0 or not wanted for has, wanted in most):
                yield kind.usd * max(-(-wanted // has) for has, wanted in most if wanted), kind

    def opened(self) -> tuple[Room, ...]:
        """As they were before anything was put on them, each in a zone that suits all on it."""
        return tuple(
            structs.replace(self._kinds(node)[0].rooms[self._zone_of(node)], name=node.room.name)
            for node in self._opened
        )

    def _zone_of(self, node: _NewNode) -> str:
        return next(zone for zone in self._zones if zone in node.zones)

    def _kinds(self, node: _NewNode) -> tuple[Kind, ...]:
        """The types that hold all that was put on it, the cheapest first."""
        if node.kinds:
            return node.kinds
        key = node.used, node.room.instance_type
        if key not in self._holding:
            used, own = key
            found = tuple(kind for kind in self._choice.kinds if kind.holds(used))
            self._holding[key] = found or tuple(kind for kind in self._choice.kinds if kind.name == own)
        node.kinds = self._holding[key]
        return node.kinds

    def needs(self, there: Counter[str]) -> tuple[Need, ...]:
        """`there`: how many nodes each zone has; the emptiest that will do is asked for."""
        named_kinds: dict[tuple[str, str], tuple[Kind, ...]] = {}
        merged: set[tuple[tuple[str, str], int]] = set()
        counts: Counter[tuple[str, str]] = Counter()
        for node in self._opened:
            zone = ""
            if node.zones != self._everywhere:
                zone = min(node.zones, key=lambda zone: (there[zone], zone))
                there[zone] += 1
            kinds = self._kinds(node)
            key = zone, kinds[0].name
            counts[key] += 1
            if (key, id(kinds)) not in merged:  # many hold the same
                merged.add((key, id(kinds)))
                found = {kind.name for kind in kinds}
                named_kinds[key] = tuple(k for k in named_kinds.get(key, kinds) if k.name in found)
        several, most = len(self._choice.kinds) > 1, max(TYPES_NAMED_MAX, self._offerings_min)
        return tuple(
            Need(
                self.candidate.pool,
                count,
                self._why(),
                key[0],
                types=tuple(kind.name for kind in named_kinds[key][:most]) if several else (),
            )
            for key, count in sorted(counts.items())
        )

    def _why(self) -> str:
        first, others = self._groups[0].called, len(self._groups) - 1
        return f"{first}, and {others} more kinds of pods" if others else first


def _stands_idle(room: Room, candidate: Candidate) -> bool:
    """A node as this pool would bring it, in service, with nothing on it."""
    return not room.new and room.empty and room.ready and not room.cordoned and room.pool == candidate.pool


def _could_run(group: PodGroup, room: Room) -> bool:
    return not unmatched(group.example, room) and not shortage(group.wants, room.free)


def in_order(
    candidates: Sequence[Candidate],
    rooms: Sequence[Room],
    limit: int,
    topology: Topology,
    offerings_min: int = 1,
    preferred: str = "",
) -> list[Pool]:
    """By weight, and then as the settings list them; those that may not scale up any more are asked last."""
    by_preference = sorted(candidates, key=_preference)
    return [Pool(each, rooms, limit, topology, offerings_min, preferred) for each in by_preference]


def _preference(candidate: Candidate) -> tuple[bool, int]:
    return candidate.more <= 0, -candidate.weight


def cheapest_first(pools: Sequence[Pool], group: PodGroup, left: int, waiting: Waiting) -> list[Pool]:
    """The same, and among equals the pool whose machine holds these pods and the next for least."""
    if len(pools) < 2:
        return list(pools)
    return sorted(
        pools,
        key=lambda pool: (_preference(pool.candidate), pool.usd_per_worth(group, left, waiting)),
    )


def promising_types(pools: Sequence[Pool], usd: float) -> list[Kind]:
    """Types of which as many as are needed at the least would cost less than this, the cheapest first."""
    used = sum((pool.used for pool in pools), Amount())
    if not used.pods or not usd:
        return []
    bounds = [bound for pool in pools for bound in pool.bounds(used) if bound[0] < usd * WORTHWHILE]
    return [kind for _, kind in sorted(bounds, key=lambda bound: (bound[0], bound[1].name))]
