"""Breadth-first search of every state that a small world can reach: safety and liveness.

`moves(state)` lists (label, next state).  `broken(state)` names a violated invariant or
returns an empty text.  `healthy` marks the labels of moves in which nothing fails: from
every reachable state, those moves alone must be able to lead to a `settled` one.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

S = TypeVar("S", bound=Hashable)


class Violation(AssertionError):
    """An invariant failed; the message is the shortest path to it."""


@dataclass(frozen=True)
class Move(Generic[S]):
    label: str
    after: S
    healthy: bool = True
    """No process dies, nothing is stale, no answer is lost."""


@dataclass(frozen=True)
class Explored:
    states: int
    edges: int
    depth: int


def explore(
    start: S,
    moves: Callable[[S], Iterable[Move[S]]],
    *,
    broken: Callable[[S], str],
    settled: Callable[[S], bool],
    canonical: Callable[[S], S] = lambda state: state,
    key: Callable[[S], Hashable] = lambda state: state,
    limit: int = 2_000_000,
) -> Explored:
    """Visit everything; raise Violation with the shortest path to the first thing that is wrong.

    `canonical` picks one of several states that differ in nothing but names.  `key` is what tells
    states apart, where there is something quicker than the state itself.
    """
    number: dict[Hashable, int] = {key(start): 0}
    came: list[tuple[int, str]] = [(-1, "")]
    depth = [0]
    healthy_into: list[list[int]] = [[]]
    good: list[int] = []
    edges = 0
    queue = deque([start])
    while queue:
        state = queue.popleft()
        here = number[key(state)]
        if problem := broken(state):
            raise Violation(f"{problem}\n" + _path(came, here))
        if settled(state):
            good.append(here)
        for move in moves(state):
            edges += 1
            after = canonical(move.after)
            known_as = key(after)
            there = number.get(known_as)
            if there is None:
                there = number[known_as] = len(came)
                came.append((here, move.label))
                depth.append(depth[here] + 1)
                healthy_into.append([])
                queue.append(after)
                assert there < limit, f"more than {limit} states: make the model smaller"
            if move.healthy:
                healthy_into[there].append(here)
    stuck = _cannot_reach(good, healthy_into)
    if stuck is not None:
        raise Violation("never settles\n" + _path(came, stuck))
    return Explored(len(came), edges, max(depth))


def _cannot_reach(good: list[int], into: list[list[int]]) -> int | None:
    """The first state from which no good one can be reached, walking the edges backwards."""
    reaches = bytearray(len(into))
    queue = deque(good)
    for state in good:
        reaches[state] = 1
    while queue:
        for before in into[queue.popleft()]:
            if not reaches[before]:
                reaches[before] = 1
                queue.append(before)
    return next((state for state, ok in enumerate(reaches) if not ok), None)


def _path(came: list[tuple[int, str]], state: int) -> str:
    steps: list[str] = []
    while state:
        state, label = came[state]
        steps.append("  " + label)
    return "\n".join(reversed(steps))
