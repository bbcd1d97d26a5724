"""Three workers with different views, a stream that is resharded twice, counts that cannot be had."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from holdfast.kernel import Happened, Workflow
from holdfast.leases import agreement
from holdfast.leases.cap import Cap, View
from holdfast.leases.ports import Apply, Effect, Seen
from holdfast.testing.explore import Explored, Move, explore
from holdfast.testing.interleave import IDLE, Doing, Rules, Seeing, Table, hand_moves, judged
from tests.proof import prove

STORY = (View(30, 3), View(60, 3), View(30, 3))
"""What is true, one after the other: there and back again."""


@dataclass(frozen=True, slots=True)
class World:
    chapter: int = 0
    applied: tuple[int, ...] = (0, 0, 0)


Here = Table[Cap, World]


def looks(table: Here, n: int) -> Iterator[Seeing]:
    owner, applied = f"worker-{n}", table.world.applied[n]
    for old in range(table.world.chapter + 1):
        fresh = old == table.world.chapter
        label = "counts" if fresh else f"counts what was true {table.world.chapter - old} reshards ago"
        yield label, Seen(worker_id=owner, view=STORY[old], applied=applied), fresh
    yield "cannot count", Seen(worker_id=owner, view=None, applied=applied), False


def does(table: Here, effect: Effect) -> Iterator[Doing[World]]:
    match effect:
        case Apply(worker_id, view):
            n = int(worker_id.removeprefix("worker-"))
            caps = (*table.world.applied[:n], view.max_leases_per_worker, *table.world.applied[n + 1 :])
            yield "", replace(table.world, applied=caps), Happened(None), True


def judge(before: Here, after: Here) -> str:
    for cap in after.world.applied:
        if cap not in (0, 10, 20):
            return f"S-K2: a cap of {cap} was applied that was never agreed on"
    return ""


def settled(table: Here) -> bool:
    """L-K1: the agreed cap follows from what is true now, and every worker has applied it."""
    truth = STORY[table.world.chapter]
    return table.record.view == truth and set(table.world.applied) == {truth.max_leases_per_worker}


def search(workflow: Workflow[Cap, Seen, Effect], workers: int = 3) -> Explored:
    rules: Rules[Cap, World] = Rules(workflow, looks, does, judge)

    def moves(table: Here) -> Iterator[Move[Here]]:
        yield from hand_moves(table, rules)
        if table.world.chapter + 1 < len(STORY):
            resharded = replace(table, world=replace(table.world, chapter=table.world.chapter + 1))
            yield Move("the stream is resharded", judged(table, rules, resharded), False)

    first: Here = Table(Cap(), World(), (IDLE,) * workers)
    return explore(first, moves, broken=lambda table: table.broken, settled=settled)


def test_workers_with_different_views_end_with_one_cap() -> None:
    result = search(agreement.WORKFLOW)

    prove("explore", "agreement", workers=3, states=result.states, edges=result.edges)
