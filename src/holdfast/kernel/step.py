"""What comes next, as values.

A workflow is two pure functions.  `step` reads the record and what was seen and names
what comes next.  `settle` says what the record becomes once an effect has an outcome.
Both are total, and time is an argument: crash anywhere, run again, same answer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from holdfast.kernel.errors import Busy, Conflict, Unknown
from holdfast.kernel.write import Write

Record = TypeVar("Record")
Seen = TypeVar("Seen")
Effect = TypeVar("Effect")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Do(Generic[Effect]):
    """Effects that do not depend on each other: they may run side by side."""

    effects: tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do before then; `why` is shown to people."""

    until_s: float
    why: str


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing is left to do."""


@dataclass(frozen=True, slots=True)
class Happened(Generic[Answer]):
    """The effect took place, and this is what it answered."""

    answer: Answer


Ahead = Write[Record] | Do[Effect] | Wait | Done
Outcome = Happened[object] | Conflict | Busy | Unknown


@dataclass(frozen=True, slots=True)
class Workflow(Generic[Record, Seen, Effect]):
    """`step(record, seen, now_s)` and `settle(record, effect, outcome, now_s)`."""

    step: Callable[[Record, Seen, float], Write[Record] | Do[Effect] | Wait | Done]
    settle: Callable[[Record, Effect, Outcome, float], Write[Record] | None]
    """None where there is nothing, or nothing new, to note."""
    reuse_s: float = 0.0
    """For so long the steps that follow an own commit may rest on one look.  0: every step looks anew."""
    by_record: Callable[[Effect], bool] = lambda effect: False
    """Whether an effect follows from the record alone: only such are performed on a look that is older than
    the record."""
