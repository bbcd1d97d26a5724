"""Several hands on one record, one small move at a time: the driver, cut open.

A hand is one invocation: it reads, looks, then writes or performs its effects and notes
them.  Between any two of these it may be overtaken, pause for ever or die.  The moves
call the shipped `step` and `settle`; the model is the product with its I/O replaced.

What happens between reading and looking matters: there a decision is made from a record
older than the picture.  Two reductions keep the space small and lose no behaviour:
- as long as no hand commits, reading early or late is the same; so a hand reads when it
  looks, and at each commit every idle hand may turn out to have read just before it;
- a write by a hand that another one overtook is refused, whenever it comes; so such a hand
  is idle again at once.  Its effects are another matter, and are kept.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Generic, TypeVar

from holdfast.kernel import Do, Done, Outcome, Wait, Workflow, Write
from holdfast.kernel.driver import settle_all
from holdfast.testing.explore import Move

R = TypeVar("R", bound=Hashable)
W = TypeVar("W", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Hand:
    """One invocation in the middle of a turn."""

    found: Any = None
    """The record it read, once another commit has replaced that one."""
    ahead: Any = None
    then: tuple[Any, ...] = ()
    """What follows its own commit on the same look, if no other commit overtakes it."""
    news: tuple[tuple[Any, Outcome], ...] = ()


IDLE = Hand()


@dataclass(frozen=True, slots=True)
class Table(Generic[R, W]):
    """A record, the world around it, and the hands at work."""

    record: R
    world: W
    hands: tuple[Hand, ...]
    broken: str = ""


Seeing = tuple[str, Any, bool]
"""A label, what was seen, and whether that is healthy."""
Doing = tuple[str, W, Outcome, bool]
"""A label, the world after it, what the hand was told, and whether that is healthy."""


@dataclass(frozen=True)
class Rules(Generic[R, W]):
    workflow: Workflow[R, Any, Any]
    looks: Callable[[Table[R, W], int], Iterable[Seeing]]
    does: Callable[[Table[R, W], Any], Iterable[Doing[W]]]
    judge: Callable[[Table[R, W], Table[R, W]], str]
    """Names what a move broke, given the table before and after it."""
    committed: Callable[[Table[R, W], Sequence[str]], W] = lambda table, kinds: table.world
    """The world after a commit that told these kinds: a place to count what is bounded."""
    now_s: Callable[[W], float] = lambda world: 0.0
    """What a clock shows in this world."""
    overtaken_once: bool = False
    """Whether a hand that is overtaken a second time between reading and looking lets go.  For worlds
    that are too large with every such hand in them."""
    lawful: Callable[[Table[R, W], Write[R]], str] = lambda table, write: ""
    """Names what is not allowed about a write, given the table that it comes to."""


def hand_moves(table: Table[R, W], rules: Rules[R, W]) -> Iterator[Move[Table[R, W]]]:
    """Everything that the hands may do next."""
    for n, hand in enumerate(table.hands):
        if isinstance(hand.ahead, Do):
            yield from _do(table, rules, n, hand)
        elif isinstance(hand.ahead, Write):
            label = f"{n} writes {hand.ahead.events[0].kind}"
            yield from commits(put(table, n, _following(hand)), rules, hand.ahead, label, by=n)
        elif hand.news:
            yield from _note(table, rules, n, hand)
        else:
            yield from _look(table, rules, n, hand)
        if hand != IDLE:
            yield Move(f"{n} dies", put(table, n, IDLE), healthy=False)


class InLine(Generic[R, W]):
    """Every hand is like the others: only which states they are in matters, not which hand is in which.

    They stand in the order in which their states were first met, which is the same in
    every search.  In a path, a number therefore names a place in line at that moment.
    """

    def __init__(self) -> None:
        self._met: dict[Hand, int] = {}

    def __call__(self, table: Table[R, W]) -> Table[R, W]:
        hands = sorted(table.hands, key=lambda hand: self._met.setdefault(hand, len(self._met)))
        return replace(table, hands=tuple(hands))


def put(table: Table[R, W], n: int, hand: Hand) -> Table[R, W]:
    return replace(table, hands=(*table.hands[:n], hand, *table.hands[n + 1 :]))


def commits(
    table: Table[R, W], rules: Rules[R, W], write: Write[R], label: str, *, by: int = -1, healthy: bool = True
) -> Iterator[Move[Table[R, W]]]:
    """Store the record.  Idle hands may have read the old one; waiting writes are refused."""
    kinds = [event.kind for event in write.events]
    after = replace(table, record=write.value, world=rules.committed(table, kinds))
    unlawful = rules.lawful(table, write)
    overtaken = [
        (hand, Hand(found=table.record))
        if hand == IDLE and n != by
        else (IDLE if _is_refused(hand) or (rules.overtaken_once and hand.found is not None) else hand,)
        for n, hand in enumerate(table.hands)
    ]
    for hands in product(*overtaken):
        early = "".join(
            f", {n} had read before" for n, hand in enumerate(hands) if hand.found is table.record
        )
        then = judged(table, rules, replace(after, hands=hands), unlawful)
        yield Move(label + early, then, healthy and not early)


def _following(hand: Hand) -> Hand:
    """What a hand is at once its write is stored."""
    return Hand(ahead=hand.then[0], then=hand.then[1:]) if hand.then else IDLE


def _chain(rules: Rules[R, W], ahead: Any, seen: Any, now_s: float) -> tuple[Any, ...]:
    """The steps that follow a write on the same look, as the driver takes them."""
    workflow, steps = rules.workflow, []
    while isinstance(ahead, Write) and workflow.reuse_s:
        ahead = workflow.step(ahead.value, seen, now_s)
        if isinstance(ahead, Write) or (
            isinstance(ahead, Do) and all(map(workflow.by_record, ahead.effects))
        ):
            steps.append(ahead)
    return tuple(steps)


def _is_refused(hand: Hand) -> bool:
    return isinstance(hand.ahead, Write)


def judged(before: Table[R, W], rules: Rules[R, W], after: Table[R, W], unlawful: str = "") -> Table[R, W]:
    problem = rules.judge(before, after) or unlawful
    return replace(after, broken=problem) if problem else after


def _note(table: Table[R, W], rules: Rules[R, W], n: int, hand: Hand) -> Iterator[Move[Table[R, W]]]:
    noted, write = settle_all(rules.workflow, table.record, hand.news, rules.now_s(table.world))
    told = "; ".join(f"{effect}: {type(outcome).__name__}" for effect, outcome in hand.news[:noted])
    left = put(table, n, replace(hand, news=hand.news[noted:]))
    if write is None:
        yield Move(f"{n} notes {told}", left)
    else:
        yield from commits(left, rules, write, f"{n} notes {told}", by=n)


def _look(table: Table[R, W], rules: Rules[R, W], n: int, hand: Hand) -> Iterator[Move[Table[R, W]]]:
    overtaken = hand.found is not None
    record = hand.found if overtaken else table.record
    for label, seen, healthy in rules.looks(table, n):
        ahead = rules.workflow.step(record, seen, rules.now_s(table.world))
        if isinstance(ahead, Wait | Done) or (overtaken and isinstance(ahead, Write)):
            if overtaken:
                yield Move(f"{n} {label} and lets go", put(table, n, IDLE), healthy)
        else:
            plan = ahead.events[0].kind if isinstance(ahead, Write) else " ".join(map(str, ahead.effects))
            then = _chain(rules, ahead, seen, rules.now_s(table.world))
            yield Move(f"{n} {label}, next {plan}", put(table, n, Hand(ahead=ahead, then=then)), healthy)


def _do(table: Table[R, W], rules: Rules[R, W], n: int, hand: Hand) -> Iterator[Move[Table[R, W]]]:
    effect, *rest = hand.ahead.effects
    ahead = Do(tuple(rest)) if rest else None
    for label, world, outcome, healthy in rules.does(table, effect):
        left = replace(hand, ahead=ahead, news=(*hand.news, (effect, outcome)))
        after = put(replace(table, world=world), n, left)
        yield Move(f"{n} does {effect}{label}", judged(table, rules, after), healthy)
