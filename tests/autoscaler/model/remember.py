"""What was seen or thought through once need not be again: the same questions come up in many schedules."""

from collections.abc import Hashable
from dataclasses import replace

from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.workflow import Ahead
from tests.autoscaler.model.fleet import Machine, World, snapshot
from tests.autoscaler.model.quiet import Whole


class Numbers:
    """A number for each value.  The same object is not looked into twice: records are deep."""

    def __init__(self) -> None:
        self._of: dict[Hashable, int] = {}
        self._of_object: dict[int, int] = {}
        self._alive: list[object] = []

    def __call__(self, value: Hashable) -> int:
        known = self._of_object.get(id(value))
        if known is None:
            known = self._of.setdefault(value, len(self._of))
            self._of_object[id(value)] = known
            self._alive.append(value)  # or its id would be another's before long
        return known


class Snapshots:
    """What was seen once need not be joined up again."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers
        self._seen: dict[tuple[int, int, str], Snapshot] = {}

    def __call__(self, world: World, listed: tuple[Machine, ...], owner: str) -> Snapshot:
        key = (self._numbers(world), self._numbers(listed), owner)
        found = self._seen.get(key)
        if found is None:
            found = self._seen[key] = snapshot(world, owner, listed=listed)
        return found


def remembering(whole: Whole, numbers: Numbers, saw: dict[int, Snapshot] | None = None) -> Whole:
    """The same workflow; a step that was taken before is not thought through again.

    `saw` gets what each write rests on, by the write itself.
    """
    taken: dict[tuple[int, int], tuple[Snapshot, Ahead]] = {}

    def step(cluster: Cluster, seen: Snapshot, now_s: float) -> Ahead:
        key = (numbers(cluster), id(seen))
        known = taken.get(key)
        if known is None or known[0] is not seen:
            known = taken[key] = (seen, whole.step(cluster, seen, now_s))
            if saw is not None:
                saw[id(known[1])] = seen
        return known[1]

    return replace(whole, step=step)
