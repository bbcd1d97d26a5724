"""Where pods would go: first fit, the largest first, pods that are alike by arithmetic.

Free room of nodes that stand or are on their way is filled first; what is left opens new nodes.
A pod that has a doubt about it (see `fit`) opens one at most, and none in a zone where a node like
it stands empty: the scheduler did not use that one either.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from holdfast.autoscaler.fit import (
    Amount,
    Doubt,
    Room,
    doubts,
    has_claims,
    host_ports,
    is_vouched_for,
    misfit,
    requests_of,
    shortage,
    unmatched,
)
from holdfast.autoscaler.sight import Need
from holdfast.autoscaler.workload import Pod

_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pool that may grow."""

    pool: str
    rooms: tuple[Room, ...]
    """What one new node of it would offer, in each zone.  None: `problem` says why."""
    more: int = 1_000
    """How many more the pool may have.  Pools that are full come last."""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Alike:
    """Pods that differ in nothing that decides where they may run."""

    pods: tuple[Pod, ...]
    wants: Amount
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
        """Perhaps no two of them stand on one node."""
        return Doubt.ANTI_AFFINITY in self.doubts


@dataclass(frozen=True, slots=True)
class Placed:
    """So many pods of a kind on one node, of those that were given or a new one."""

    room: Room
    count: int


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of pods that are alike."""

    group: Alike
    placed: tuple[Placed, ...]
    left: int = 0
    why: str = ""
    """Why those that are left found no place."""
    hopeless: bool = False
    """No template of ours could run them."""


@dataclass(frozen=True, slots=True)
class Packed:
    needs: tuple[Need, ...]
    fates: tuple[Fate, ...]

    @property
    def placed(self) -> tuple[tuple[Placed, Pod], ...]:
        return tuple((placed, fate.group.example) for fate in self.fates for placed in fate.placed)

    @property
    def hopeless(self) -> tuple[str, ...]:
        return tuple(f"{fate.group.called}: {fate.why}" for fate in self.fates if fate.hopeless)


def alike(pods: Iterable[Pod]) -> list[Alike]:
    """The pods in groups, in the order of their first."""
    groups: dict[bytes, list[Pod]] = {}
    for pod in pods:
        groups.setdefault(_key(pod), []).append(pod)
    return [
        Alike(tuple(group), requests_of(group[0]), doubts(group[0]), host_ports(group[0]))
        for group in groups.values()
    ]


def _key(pod: Pod) -> bytes:
    """Names of volumes and claims differ within a set of replicas and decide nothing here."""
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


class _Filling:
    """A node while pods are being put on it."""

    __slots__ = ("apart", "free", "ports", "room", "zones")

    def __init__(self, room: Room, zones: frozenset[str] = frozenset()) -> None:
        self.room, self.free, self.ports = room, room.free, room.ports
        self.apart = False
        self.zones = zones
        """Of a new node: where it may still be made."""

    def fits(self, group: Alike, most: int) -> int:
        most = group.wants.times_within(self.free, most)
        if group.ports:
            most = 0 if group.ports & self.ports else min(most, 1)
        if group.apart and self.room.new:
            most = 0 if self.apart else min(most, 1)
        return most

    def put(self, group: Alike, count: int) -> Placed:
        self.free = self.free - group.wants * count
        self.ports = self.ports | group.ports
        self.apart = self.apart or group.apart
        return Placed(self.room, count)


def pack(pods: Iterable[Pod], rooms: Sequence[Room], candidates: Sequence[Candidate], limit: int) -> Packed:
    """Place the pods in the rooms, then on new nodes of the candidates, `limit` of each pool at most."""
    fillings = [_Filling(room) for room in rooms]
    opening = _Opening(rooms, sorted(candidates, key=lambda candidate: candidate.more <= 0), limit)
    fates = []
    for group in _largest_first(alike(pods), [*rooms, *(c.rooms[0] for c in candidates if c.rooms)]):
        placed, left = _fill(group, fillings, vouched=False)
        fates.append(opening.fate(group, placed, left) if left else Fate(group, tuple(placed)))
    return Packed(opening.needs(), tuple(fates))


def homeless(pods: Iterable[Pod], rooms: Sequence[Room]) -> str:
    """The first of these pods that finds no place in the rooms, with the reason; empty if all do."""
    fillings = [_Filling(room) for room in rooms]
    for group in _largest_first(alike(pods), rooms):
        _, left = _fill(group, fillings, vouched=is_vouched_for(group.example))
        if left:
            return f"{group.example.called} fits on no other node: {_tally(group, fillings)}"
    return ""


def _largest_first(groups: Iterable[Alike], rooms: Sequence[Room]) -> list[Alike]:
    cpu = max((room.free.cpu_m for room in rooms), default=0) or 1
    memory = max((room.free.memory for room in rooms), default=0) or 1

    def share(group: Alike) -> float:
        return max(group.wants.cpu_m / abs(cpu), group.wants.memory / abs(memory))

    return sorted(groups, key=share, reverse=True)


def _fill(group: Alike, fillings: Iterable[_Filling], *, vouched: bool) -> tuple[list[Placed], int]:
    placed, left = [], len(group.pods)
    for filling in fillings:
        # The amounts first: they are the cheaper question.
        count = filling.fits(group, left)
        if count and not misfit(group.example, filling.room, vouched=vouched):
            placed.append(filling.put(group, count))
            left -= count
            if not left:
                break
    return placed, left


def _tally(group: Alike, fillings: Sequence[_Filling]) -> str:
    """Why none of them takes it: the most frequent kinds of reasons, with their number."""
    vouched = is_vouched_for(group.example)
    reasons = [
        misfit(group.example, f.room, vouched=vouched)
        or (f"host port taken: {min(taken)}" if (taken := group.ports & f.ports) else "")
        or shortage(group.wants, f.free)
        for f in fillings
    ]
    if not reasons:
        return "there is no other node"
    if len(reasons) == 1:
        return reasons[0]
    kinds = Counter(reason.partition(":")[0] for reason in reasons).most_common()
    return ", ".join(f"{reason} on {number}" for reason, number in kinds[:4])


class _Opening:
    """The new nodes of one packing."""

    def __init__(self, rooms: Sequence[Room], candidates: Sequence[Candidate], limit: int) -> None:
        self._standing = [room for room in rooms if not room.new]
        self._candidates, self._limit = candidates, limit
        self._opened: dict[str, list[_Filling]] = {candidate.pool: [] for candidate in candidates}
        self._pods: dict[str, list[Alike]] = {candidate.pool: [] for candidate in candidates}

    def fate(self, group: Alike, placed: list[Placed], left: int) -> Fate:
        would_take = False
        reasons: list[str] = []
        for candidate in self._candidates:
            taken, why = self._put(group, candidate, left)
            placed += taken
            left -= sum(each.count for each in taken)
            if not left:
                return Fate(group, tuple(placed))
            would_take = would_take or self._takes(group, candidate)
            reasons.append(f"pool {candidate.pool}: {why}" if len(self._candidates) > 1 else why)
        why = "; ".join(reasons) or "there is no pool that could grow"
        return Fate(group, tuple(placed), left, why, hopeless=not would_take)

    def needs(self) -> tuple[Need, ...]:
        counts: Counter[tuple[str, str]] = Counter()
        there = Counter(room.zone for room in self._standing)
        for candidate in self._candidates:
            everywhere = {room.zone for room in candidate.rooms}
            for filling in self._opened[candidate.pool]:
                anywhere = filling.zones == everywhere
                zone = "" if anywhere else min(filling.zones, key=lambda zone: (there[zone], zone))
                there[zone] += 1
                counts[candidate.pool, zone] += 1
        return tuple(Need(pool, count, self._why(pool), zone) for (pool, zone), count in counts.items())

    def _why(self, pool: str) -> str:
        groups = self._pods[pool]
        first = groups[0].called
        return f"{first}, and {len(groups) - 1} more kinds of pods" if len(groups) > 1 else first

    def _takes(self, group: Alike, candidate: Candidate) -> bool:
        return any(not self._refusal(group, room) for room in candidate.rooms)

    def _refusal(self, group: Alike, room: Room) -> str:
        return misfit(group.example, room) or shortage(group.wants, room)

    def _put(self, group: Alike, candidate: Candidate, left: int) -> tuple[list[Placed], str]:
        """As many as this pool takes, and why it takes no more."""
        if not candidate.rooms:
            return [], candidate.problem
        refusals = {room.zone: self._refusal(group, room) for room in candidate.rooms}
        zones = frozenset(zone for zone, why in refusals.items() if not why)
        if not zones:
            return [], next(iter(refusals.values()))
        idle = {room.zone: room.name for room in self._standing if self._stands_by(group, candidate, room)}
        if group.doubts and not zones - idle.keys():
            name = idle[min(zones & idle.keys())]
            return [], f"node {name} stands empty and was not given it either: it has {group.doubts[0]}"
        zones -= idle.keys()
        placed = self._on_opened(group, candidate, zones, left)
        left -= sum(each.count for each in placed)
        opened = self._opened[candidate.pool]
        while left and len(opened) < self._limit:
            opened.append(_Filling(next(r for r in candidate.rooms if r.zone in zones), zones))
            count = opened[-1].fits(group, left)
            placed.append(opened[-1].put(group, count))
            left -= count
        if placed and group not in self._pods[candidate.pool]:
            self._pods[candidate.pool].append(group)
        return placed, f"{self._limit} new nodes are not enough for all" if left else ""

    def _on_opened(
        self, group: Alike, candidate: Candidate, zones: frozenset[str], left: int
    ) -> list[Placed]:
        placed = []
        for filling in self._opened[candidate.pool]:
            count = filling.fits(group, left) if filling.zones & zones else 0
            if count:
                filling.zones &= zones
                placed.append(filling.put(group, count))
                left -= count
            if not left:
                break
        return placed

    def _stands_by(self, group: Alike, candidate: Candidate, room: Room) -> bool:
        """An empty node like the ones that this pool would bring: what it was not given, they would not be."""
        return bool(
            group.doubts
            and room.empty
            and room.pool == candidate.pool
            and room.ready
            and not room.cordoned
            and not unmatched(group.example, room)
            and not shortage(group.wants, room)
        )
