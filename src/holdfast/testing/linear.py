"""Whether a history of concurrent calls could have happened one call at a time.

A history is *linearizable* if every operation can be given one moment between its
call and its return, so that the calls, made one by one in that order, give exactly
the answers that were seen.  An operation whose answer was lost may have its moment at
any time after its call, or none at all.

The search is Wing and Gong's with Lowe's memory: place any operation that may come
next, and never look twice at the same (operations placed, state).  What is placed is
"all before here" and a bitmask of the few beyond, so at a quiet moment all roads that
lead to one state are one road.  A model that knows more of itself (`Shortcuts`) spares
the search two kinds of choice that cannot matter.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

State = TypeVar("State", bound=Hashable)
Call = TypeVar("Call")
Answer = TypeVar("Answer")
Call_co = TypeVar("Call_co", covariant=True)
Answer_co = TypeVar("Answer_co", covariant=True)
State_contra = TypeVar("State_contra", contravariant=True)
Call_contra = TypeVar("Call_contra", contravariant=True)
Answer_contra = TypeVar("Answer_contra", contravariant=True)

PREFIX_LINES = 20


@dataclass(frozen=True, slots=True)
class Operation(Generic[Call_co, Answer_co]):
    """One call of one client, and what came of it.

    One that returned at the very moment another was called counts as concurrent with it.
    """

    client: str
    call: Call_co
    called_at: float  # any monotone number: a logical clock will do
    returned_at: float  # math.inf when the answer was lost
    answer: Answer_co | None  # None when the answer was lost

    def __post_init__(self) -> None:
        if not self.called_at <= self.returned_at:
            raise ValueError(f"{self!r} returns before its call: check the clock of its times")
        if (self.answer is None) != (self.returned_at == math.inf):
            raise ValueError(f"{self!r}: a lost answer is None at math.inf; any other has both")

    def __str__(self) -> str:
        until = "lost" if self.answer is None else f"{self.returned_at:g}"
        outcome = "answer lost" if self.answer is None else repr(self.answer)
        return f"[{self.called_at:g}, {until}] {self.client}: {self.call!r} -> {outcome}"


class Model(Protocol[State, Call_contra, Answer_contra]):
    """What one call at a time may do."""

    def start(self) -> State: ...

    def apply(self, state: State, call: Call_contra, answer: Answer_contra | None) -> Iterable[State]:
        """The states after this call, if it may give this answer here; none if it cannot.

        Answer None: every state it may lead to, the unchanged one included.
        """
        ...


@runtime_checkable
class Shortcuts(Protocol[State_contra, Call_contra, Answer_contra]):
    """What a model may tell besides: verdicts stay the same, and come sooner."""

    def changes_nothing(self, call: Call_contra, answer: Answer_contra) -> bool:
        """Whether a call so answered leaves every state as it is.  It is placed wherever it first fits."""
        ...

    def spent(self, state: State_contra, call: Call_contra) -> bool:
        """Whether a lost call can change nothing, here or in any state that may follow.  It is forgotten."""
        ...


class NotLinearizable(AssertionError):
    """No order explains the history.  The message ends with source text that fails again."""

    def __init__(
        self,
        prefix: list[tuple[Operation[Any, Any], Any]],
        state: Any,
        stuck: list[Operation[Any, Any]],
        lost: list[Operation[Any, Any]],
        history: list[Operation[Any, Any]],
    ) -> None:
        self.prefix = prefix  # in a legal order, each with the state after it
        self.state = state  # after the prefix
        self.stuck = stuck  # one of these must be next, and none can
        self.lost = lost  # may be next, and do not help
        self.history = history  # as far as it matters: nothing called after the failure
        super().__init__("\n".join(self._lines()))

    def replay(self) -> str:
        """Python source of a check that fails in the same way."""
        operations = "".join(f"    {operation!r},\n" for operation in self.history)
        return f"check(model, [\n{operations}])"

    def _lines(self) -> Iterator[str]:
        yield (
            f"not linearizable: {len(self.prefix)} operations have a legal order, "
            f"then none of {len(self.stuck)} can follow"
        )
        shown = self.prefix[-PREFIX_LINES:]
        yield f"the longest legal prefix (last {len(shown)} of {len(self.prefix)}):"
        for operation, state in shown:
            yield f"  {operation} => {state!r}"
        yield f"in state {self.state!r} none of these can follow:"
        yield from (f"  {operation}" for operation in self.stuck)
        if self.lost:
            yield "these lost ones may have taken effect then, and it would not help:"
            yield from (f"  {operation}" for operation in self.lost)
        yield "replay (from math import inf):"
        yield self.replay()


def check(model: Model[State, Call, Answer], history: Iterable[Operation[Call, Answer]]) -> None:
    """Return if the history is linearizable, raise NotLinearizable if it is not."""
    _Search(model, history).run()


class _Spot(NamedTuple, Generic[State]):
    """Where a search stands: what is placed, and the state that gave."""

    before: int  # every answered operation before this index is placed
    beyond: int  # bit i: the answered operation at `before` + i is placed
    lost: int  # bit i: lost operation i is placed, or spent
    state: State


class _Search(Generic[State, Call, Answer]):
    def __init__(self, model: Model[State, Call, Answer], history: Iterable[Operation[Call, Answer]]) -> None:
        ordered = sorted(history, key=lambda operation: operation.called_at)
        self.model = model
        self.answered = [operation for operation in ordered if operation.answer is not None]
        self.lost = [operation for operation in ordered if operation.answer is None]
        self.lost_calls_at = [operation.called_at for operation in self.lost]
        self.spent: Callable[[State, Call], bool] | None = None
        self.still = [False] * len(self.answered)  # which of them change nothing
        if isinstance(model, Shortcuts):
            self.spent = model.spent
            self.still = [model.changes_nothing(one.call, one.answer) for one in self.answered]
        self.came: dict[_Spot[State], tuple[_Spot[State], list[Operation[Call, Answer]]] | None] = {}

    def run(self) -> None:
        start = self._spot(0, 0, 0, self.model.start())
        self.came[start] = None
        stack = [start]
        furthest = start
        furthest_rank = (-math.inf, -1, 0)
        while stack:
            spot = stack.pop()
            waiting, deadline = self._waiting(spot)
            if not waiting:
                return
            rank = (deadline, spot.before + spot.beyond.bit_count(), -spot.lost.bit_count())
            if rank > furthest_rank:
                furthest, furthest_rank = spot, rank
            for following, placed in self._moves(spot, waiting, deadline):
                if following not in self.came:
                    self.came[following] = (spot, placed)
                    stack.append(following)
        raise self._failure(furthest)

    def _waiting(self, spot: _Spot[State]) -> tuple[list[int], float]:
        """The answered operations one of which must be next, and when the first of them returned."""
        waiting: list[int] = []
        deadline = math.inf
        beyond = spot.beyond
        for index in range(spot.before, len(self.answered)):
            operation = self.answered[index]
            if operation.called_at > deadline:
                break
            if not beyond >> (index - spot.before) & 1:
                waiting.append(index)
                deadline = min(deadline, operation.returned_at)
        return waiting, deadline

    def _moves(
        self, spot: _Spot[State], waiting: list[int], deadline: float
    ) -> Iterator[tuple[_Spot[State], list[Operation[Call, Answer]]]]:
        """What may come next, the most promising last: that is where the stack is popped."""
        still: list[int] = []
        moving: list[tuple[int, State]] = []
        for index in waiting:
            operation = self.answered[index]
            states = self.model.apply(spot.state, operation.call, operation.answer)
            if not self.still[index]:
                moving.extend((index, state) for state in states)
            elif any(True for _ in states):
                still.append(index)
        if still:
            yield self._placed(spot, still, spot.state), [self.answered[index] for index in still]
            return
        for index, state in self._lost_moves(spot, deadline):
            yield self._spot(spot.before, spot.beyond, spot.lost | 1 << index, state), [self.lost[index]]
        for index, state in sorted(moving, key=lambda move: -self.answered[move[0]].returned_at):
            yield self._placed(spot, [index], state), [self.answered[index]]

    def _lost_moves(self, spot: _Spot[State], deadline: float) -> Iterator[tuple[int, State]]:
        """Lost operations that may take effect here.  Not taking effect needs no move."""
        pending = (1 << bisect_right(self.lost_calls_at, deadline)) - 1 & ~spot.lost
        for index in _bits(pending):
            for state in self.model.apply(spot.state, self.lost[index].call, None):
                if state != spot.state:
                    yield index, state

    def _placed(self, spot: _Spot[State], indexes: list[int], state: State) -> _Spot[State]:
        beyond = spot.beyond
        for index in indexes:
            beyond |= 1 << (index - spot.before)
        whole = (~beyond & (beyond + 1)).bit_length() - 1  # how many ones end it
        if state == spot.state:
            return _Spot(spot.before + whole, beyond >> whole, spot.lost, state)
        return self._spot(spot.before + whole, beyond >> whole, spot.lost, state)

    def _spot(self, before: int, beyond: int, lost: int, state: State) -> _Spot[State]:
        """A spot in a new state, in which lost calls may have become spent."""
        if self.spent is not None:
            for index in _bits((1 << len(self.lost)) - 1 & ~lost):
                if self.spent(state, self.lost[index].call):
                    lost |= 1 << index
        return _Spot(before, beyond, lost, state)

    def _failure(self, spot: _Spot[State]) -> NotLinearizable:
        """Told from the place that came furthest in time, with the fewest lost effects assumed."""
        waiting, deadline = self._waiting(spot)
        prefix: list[tuple[Operation[Call, Answer], State]] = []
        here = spot
        while (link := self.came[here]) is not None:
            back, placed = link
            prefix.extend((operation, here.state) for operation in reversed(placed))
            here = back
        # No search came past the deadline, so no operation called after it was ever looked at.
        told = [one for one in (*self.answered, *self.lost) if one.called_at <= deadline]
        return NotLinearizable(
            prefix=prefix[::-1],
            state=spot.state,
            stuck=sorted((self.answered[index] for index in waiting), key=lambda one: one.returned_at),
            lost=[self.lost[index] for index in dict(self._lost_moves(spot, deadline))],
            history=sorted(told, key=lambda one: one.called_at),
        )


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


# The model of our repositories: a record with a version, changed by guarded commits.

Stored: TypeAlias = tuple[int, str]  # version and commit id


@dataclass(frozen=True, slots=True)
class Read:
    """Answered with what is stored."""


@dataclass(frozen=True, slots=True)
class Commit:
    """Answered "done", "conflict" or "busy"."""

    expected: int
    commit_id: str


RegisterCall: TypeAlias = Read | Commit
RegisterAnswer: TypeAlias = Stored | Literal["done", "conflict", "busy"]


@dataclass(frozen=True, slots=True)
class VersionedRegister:
    """One record: every commit that is done moves it on by exactly one version."""

    version: int = 0
    commit_id: str = ""

    def start(self) -> Stored:
        return (self.version, self.commit_id)

    def apply(self, state: Stored, call: RegisterCall, answer: RegisterAnswer | None) -> tuple[Stored, ...]:
        match call, answer:
            case _, "busy":
                return (state,)
            case Read(), None:
                return (state,)
            case Read(), tuple():
                return (state,) if state == answer else ()
            case Commit(expected, commit_id), "done":
                return ((expected + 1, commit_id),) if state[0] == expected else ()
            case Commit(expected), "conflict":
                return (state,) if state[0] != expected else ()
            case Commit(expected, commit_id), None:
                return (state, (expected + 1, commit_id)) if state[0] == expected else (state,)
        raise ValueError(f"{call!r} is never answered {answer!r}: mend what recorded the history")

    def changes_nothing(self, call: RegisterCall, answer: RegisterAnswer | None) -> bool:
        return isinstance(call, Read) or answer in ("conflict", "busy")

    def spent(self, state: Stored, call: RegisterCall) -> bool:
        """Versions only increase: a commit that expects an older one has had its chance."""
        return isinstance(call, Read) or call.expected < state[0]
