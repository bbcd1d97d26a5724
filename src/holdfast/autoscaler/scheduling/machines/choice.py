"""Of which type a new node should be: the one that holds what waits for least.

Each type is filled on paper, with the pods that need the node and with those that come after them, and
judged by what it costs for what it would hold.  Where several cost about the same, the node is as large as
leaves several nodes for what waits: one machine that is lost should not take everything with it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, NamedTuple

from holdfast.autoscaler.scheduling.fit import HOSTNAME, Room
from holdfast.autoscaler.scheduling.machines.price import worth
from holdfast.autoscaler.scheduling.pod_groups import PodGroup
from holdfast.cloud.requests import Amount, Extended, lesser

ROWS_MAX: Final = 96
"""Kinds of pods that a type is tried with.  Of more, some stand for all."""
ABOUT_THE_SAME: Final = 1.03
SHORTLIST: Final = 6
SHORTLIST_USES: Final = 24
"""After so many choices among a few types all are considered again."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of machine, with what a new node of it would offer in each zone."""

    name: str
    usd: float
    """An hour, over all zones: which one it will be is decided later."""
    rooms: Mapping[str, Room]
    least: Amount
    """What it offers in every zone."""

    def holds(self, used: Amount) -> bool:
        """Wherever it is made."""
        return used.within(self.least)


class Row(NamedTuple):
    """Pods that come later, as a type is tried with them."""

    group: PodGroup
    cpu_m: int
    memory: int
    extended: Extended
    left: float
    worth: float


class Waiting:
    """All that is to be placed, the largest first, seen from one of them on."""

    def __init__(self, groups: Sequence[PodGroup]) -> None:
        self._groups = groups
        self._rows = [
            Row(each, w.cpu_m, w.memory, w.extended, float(len(each.pods)), worth(w))
            for each in groups
            for w in (each.wants,)
        ]
        self.at = 0
        """The one that is being placed."""

    def __iter__(self) -> Iterator[PodGroup]:
        for at, group in enumerate(self._groups):
            self.at = at
            yield group

    def rows(self) -> list[Row]:
        """Those that come after it: all, or some that stand for all."""
        first = self.at + 1
        stride = -(-(len(self._rows) - first) // ROWS_MAX)
        if stride <= 1:
            return self._rows[first:]
        return [row._replace(left=row.left * stride) for row in self._rows[first::stride]]


NONE_WAIT: Final = Waiting(())


class Chosen(NamedTuple):
    kind: Kind
    usd_per_worth: float
    fits: int
    """So many of the pods that need it go on one."""


class Choice:
    """The types of one pool."""

    def __init__(self, rooms: Sequence[Room], offerings_min: int = 1, preferred: str = "") -> None:
        by_type: dict[str, dict[str, Room]] = {}
        for room in rooms:
            by_type.setdefault(room.instance_type, {})[room.zone] = room
        kinds = [
            Kind(name, _mean(each.values()), each, reduce(lesser, (room.free for room in each.values())))
            for name, each in by_type.items()
        ]
        self.kinds = sorted(kinds, key=lambda kind: kind.usd)
        self.largest_first = sorted(kinds, key=_size, reverse=True)
        self._offerings_min = offerings_min
        self._preferred = [kind for kind in kinds if preferred and kind.name == preferred]
        self._worthwhile: dict[str, list[Kind]] = {}
        self._short: dict[str, tuple[list[Kind], int]] = {}

    def best(
        self,
        group: PodGroup,
        left: int,
        zone: str,
        waiting: Waiting,
        most: int,
        suits: Callable[[PodGroup], bool],
    ) -> Chosen | None:
        """For so many pods of this group, in this zone.  `most`: how many nodes there may be.

        `suits`: whether pods that come later may go to this pool too.
        """
        for each in _tried([kind for kind in self._preferred if zone in kind.rooms], group, left, zone, ()):
            return Chosen(each.kind, each.usd / each.held, each.fits)
        kinds, uses = self._short.get(zone, ([], SHORTLIST_USES))
        if uses < SHORTLIST_USES:
            self._short[zone] = (kinds, uses + 1)
        rows = [row for row in waiting.rows() if suits(row.group)] if len(self.kinds) > 1 else []
        tried = _tried(kinds, group, left, zone, rows) if uses < SHORTLIST_USES else []
        if not tried:
            tried = _tried(self._considered(zone), group, left, zone, rows)
            by_price = sorted(tried, key=lambda each: each.usd / each.held)
            self._short[zone] = ([each.kind for each in by_price[:SHORTLIST]], 0)
        if not tried:
            return None
        total = worth(group.wants) * left + sum(row.worth * row.left for row in rows)
        chosen = _of(tried, total, most, self._offerings_min)
        return Chosen(chosen.kind, chosen.usd / chosen.held, chosen.fits)

    def _considered(self, zone: str) -> list[Kind]:
        """Without those that cost no less than another which offers no less."""
        if zone not in self._worthwhile:
            kept: list[Kind] = []
            for kind in self.kinds:
                if zone in kind.rooms and not any(
                    _is_within(kind.rooms[zone].free, other.rooms[zone].free) for other in kept
                ):
                    kept.append(kind)
            self._worthwhile[zone] = kept
        return self._worthwhile[zone]


class _Tried(NamedTuple):
    kind: Kind
    usd: float
    held: float
    """What the pods are worth that one node of it would hold."""
    fits: int


def _tried(kinds: Iterable[Kind], group: PodGroup, left: int, zone: str, rows: Sequence[Row]) -> list[_Tried]:
    one_by_one = bool(group.ports) or _stays_apart_from_itself(group)
    found = []
    for kind in kinds:
        free = kind.rooms[zone].free
        fits = group.wants.times_within(free, left)
        if fits:
            fits = 1 if one_by_one else fits
            held = _held(free - group.wants * fits, -(-left // fits), rows)
            found.append(_Tried(kind, kind.usd, fits * worth(group.wants) + held, fits))
    return found


def _held(free: Amount, nodes: int, rows: Iterable[Row]) -> float:
    """What is worth the most of those that come later in what is left, shared with so many nodes like it."""
    cpu_m, memory, pods, held = float(free.cpu_m), float(free.memory), float(free.pods), 0.0
    for row in rows:
        if row.cpu_m > cpu_m or row.memory > memory or pods < 1:
            continue
        if row.extended and not Amount(extended=row.extended).within(free):
            continue
        count = min(row.left / nodes, pods)
        if row.cpu_m:
            count = min(count, cpu_m / row.cpu_m)
        if row.memory:
            count = min(count, memory / row.memory)
        count = float(int(count)) if count > 1 else count
        cpu_m -= count * row.cpu_m
        memory -= count * row.memory
        pods -= count
        held += count * row.worth
    return held


def _of(tried: Sequence[_Tried], total: float, most: int, offerings_min: int) -> _Tried:
    """The cheapest for what it holds, of those of which so many nodes as there may be hold everything."""
    enough = [each for each in tried if each.held * most >= total * 0.999]
    if not enough:
        return min(tried, key=lambda each: (-each.held, each.usd))
    least = min(each.usd / each.held for each in enough)
    near = [each for each in enough if each.usd / each.held <= least * ABOUT_THE_SAME]
    several = [each for each in near if each.held * offerings_min <= total]
    if several:
        return max(several, key=lambda each: (each.held, -each.usd))
    return min(near, key=lambda each: (each.held, each.usd))


def _stays_apart_from_itself(group: PodGroup) -> bool:
    meta = group.example.metadata
    return any(
        term.topology_key == HOSTNAME and term.selects(meta.namespace, meta.labels)
        for term in group.rules.apart
    )


def _is_within(one: Amount, other: Amount) -> bool:
    """Whether the other offers no less of anything."""
    has = dict(other.extended)
    return (
        one.cpu_m <= other.cpu_m
        and one.memory <= other.memory
        and one.pods <= other.pods
        and all(name in has and amount <= has[name] for name, amount in one.extended)
    )


def _mean(rooms: Iterable[Room]) -> float:
    found = [room.usd for room in rooms]
    return sum(found) / len(found)


def _size(kind: Kind) -> tuple[int, int]:
    return max((room.free.cpu_m, room.free.memory) for room in kind.rooms.values())
