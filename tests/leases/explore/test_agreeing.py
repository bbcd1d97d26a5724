"""Workers with different views, a stream that is resharded, old looks, and workers that fall silent."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from holdfast.kernel import Do, Happened, Workflow, Write
from holdfast.leases import agreement
from holdfast.leases.cap import Cap, View
from holdfast.leases.ports import Effect, Seen, WriteRow
from holdfast.leases.rows import WorkerRow
from holdfast.testing.explore import Explored, Move, explore
from holdfast.testing.interleave import IDLE, Doing, Hand, Rules, Seeing, Table, hand_moves, judged
from tests.deep import DEEP
from tests.proof import prove

Rows = tuple[WorkerRow | None, ...]


@dataclass(frozen=True, slots=True)
class World:
    story: tuple[int, ...]
    """How many shards there are, one after the other."""
    rows: Rows
    before: Rows
    """The rows before the last of them was written: what an old scan shows."""
    silent: tuple[bool, ...]
    """Who has not beaten for so long that others may take it for dead."""
    late: tuple[bool, ...]
    """Whose row was written while another was about to commit: that one has looked before it."""
    chapter: int = 0

    @property
    def shards(self) -> int:
        return self.story[self.chapter]


Here = Table[Cap, World]


def seen(rows: Rows, n: int, shards: int, dead: frozenset[int] = frozenset()) -> Seen:
    """What worker n sees in these rows, if it takes these workers for dead."""
    others = tuple(row for m, row in enumerate(rows) if row and m != n and m not in dead)
    vote = View(shards, len(rows) - len(dead))
    return Seen(key=f"w{n}", incarnation=f"i{n}", vote=vote, row=rows[n], others=others)


def looks(table: Here, n: int) -> Iterator[Seeing]:
    world = table.world
    yield "counts", seen(world.rows, n, world.shards), True
    for old in set(world.story[: world.chapter]) - {world.shards}:
        yield f"counts {old} that were there before", seen(world.rows, n, old), False
    if world.before != world.rows:
        old_rows = replace(seen(world.before, n, world.shards), steady=False)
        yield "looks at old rows", old_rows, False
    dead = frozenset(m for m, silent in enumerate(world.silent) if silent and m != n)
    if dead:
        yield f"takes {sorted(dead)} for dead", seen(world.rows, n, world.shards, dead), False


def does(table: Here, effect: Effect) -> Iterator[Doing[World]]:
    """A worker that was silent beats again with this."""
    n, world = int(effect.row.key[1:]), table.world
    rows = (*world.rows[:n], effect.row, *world.rows[n + 1 :])
    silent = (*world.silent[:n], False, *world.silent[n + 1 :])
    pending = any(isinstance(hand.ahead, Write) for m, hand in enumerate(table.hands) if m != n)
    late = (*world.late[:n], pending, *world.late[n + 1 :])
    after = replace(world, rows=rows, before=world.rows, silent=silent, late=late)
    yield "", after, Happened(None), True


def committed(table: Here, kinds: object) -> World:
    """Whoever else was about to commit is refused."""
    return replace(table.world, late=(False,) * len(table.hands))


def judge(before: Here, after: Here) -> str:
    fell = after.record.max_leases_per_worker < before.record.max_leases_per_worker
    world = before.world
    for row, silent, late in zip(world.rows, world.silent, world.late, strict=True):
        needs = row.view.max_leases_per_worker if row and not silent and not late else 0
        if fell and needs > after.record.max_leases_per_worker:
            return f"S-K3: the cap falls to {after.record.max_leases_per_worker}, a living one needs {needs}"
    view = after.record.view
    if view and view.unread and not after.record.unread:
        return f"S-K2: {view.unread} shards are unread, and no alarm says so"
    return ""


def settled(table: Here) -> bool:
    """L-K1: the agreed cap follows from what is true now, and every worker has applied it."""
    truth, record = View(table.world.shards, len(table.hands)), table.record
    return record.view == truth and all(
        row is not None
        and (row.view, row.agreement, row.max_leases_per_worker)
        == (truth, record.agreement, truth.max_leases_per_worker)
        for row in table.world.rows
    )


def search(
    workflow: Workflow[Cap, Seen, Effect], story: tuple[int, ...], *, workers: int = 2, silence: bool = False
) -> Explored:
    """`silence`: workers fall silent too, one at a time."""
    rules: Rules[Cap, World] = Rules(workflow, looks, does, judge, committed, overtaken_once=True)

    def moves(table: Here) -> Iterator[Move[Here]]:
        yield from hand_moves(table, rules)
        world = table.world
        if world.chapter + 1 < len(story):
            resharded = replace(table, world=replace(world, chapter=world.chapter + 1))
            yield Move("the stream is resharded", judged(table, rules, resharded), False)
        for n, silent in enumerate(world.silent):
            if silence and not silent and world.rows[n] is not None and not any(world.silent):
                quiet = (*world.silent[:n], True, *world.silent[n + 1 :])
                yield Move(f"{n} falls silent", replace(table, world=replace(world, silent=quiet)), False)

    nothing: Rows = (None,) * workers
    no = (False,) * workers
    first: Here = Table(Cap(), World(story, nothing, nothing, no, no), (IDLE,) * workers)
    return explore(first, moves, broken=lambda table: table.broken, settled=settled, canonical=in_order)


def in_order(table: Here) -> Here:
    """How often there was an agreement does not matter, only which of them is which."""
    found = sorted({0, *agreements(table)})
    rank = {agreement: n for n, agreement in enumerate(found)}
    if all(agreement == n for agreement, n in rank.items()):
        return table
    ordered: Here = renumbered(table, rank)
    return ordered


def agreements(value: Any) -> Iterator[int]:
    match value:
        case Cap() | WorkerRow():
            yield value.agreement
        case Table():
            yield value.record.agreement
            for part in (*value.world.rows, *value.world.before, *value.hands):
                yield from agreements(part)
        case Hand():
            for part in (value.found, value.ahead, *(effect for effect, _ in value.news)):
                yield from agreements(part)
        case Write():
            yield value.value.agreement
        case Do():
            yield from (effect.row.agreement for effect in value.effects)
        case WriteRow():
            yield value.row.agreement


def renumbered(value: Any, rank: dict[int, int]) -> Any:
    match value:
        case Cap() | WorkerRow():
            return replace(value, agreement=rank[value.agreement])
        case Table():
            rows, before = renumbered(value.world.rows, rank), renumbered(value.world.before, rank)
            return replace(
                value,
                record=renumbered(value.record, rank),
                world=replace(value.world, rows=rows, before=before),
                hands=renumbered(value.hands, rank),
            )
        case Hand():
            news = tuple((renumbered(effect, rank), outcome) for effect, outcome in value.news)
            return Hand(renumbered(value.found, rank), renumbered(value.ahead, rank), value.then, news)
        case Write():
            return Write(renumbered(value.value, rank), value.events)
        case Do():
            return Do(renumbered(value.effects, rank))
        case WriteRow():
            return replace(value, row=renumbered(value.row, rank))
        case tuple():
            return tuple(renumbered(each, rank) for each in value)
    return value


@pytest.mark.parametrize(
    ("story", "silence", "at_least"),
    [
        ((30,), False, 400),
        pytest.param((30,), True, 20_000, marks=DEEP),
        pytest.param((30, 60), False, 20_000, marks=DEEP),
        pytest.param((60, 30), False, 20_000, marks=DEEP),
    ],
)
def test_workers_with_different_views_end_with_one_cap(
    story: tuple[int, ...], silence: bool, at_least: int
) -> None:
    result = search(agreement.WORKFLOW, story, silence=silence)

    assert result.states >= at_least
    prove("explore", "agreement", workers=2, states=result.states, edges=result.edges)
