"""The gate that every call from a simulated process to the world passes through.

What can become of a call is its fate.  A gate draws one: from an enumeration that visits
them all, or from a seeded random generator.  The code on both sides of the gate is the product's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, Protocol, TypeVar

from holdfast.kernel import Busy, Logged, Repository, Unknown, Versioned, Write
from holdfast.testing.choices import Choose

T = TypeVar("T")
Record = TypeVar("Record")


class Crash(BaseException):
    """The process died here.  A BaseException: product code must not catch it."""


class Fate(Enum):
    WORKS = "works"
    FAILS_BEFORE = "fails before"
    FAILS_AFTER = "fails after"
    ANSWER_LOST = "answer lost"
    SLOW = "slow"
    THROTTLED = "throttled"
    STALE = "stale read"
    DIES_BEFORE = "dies before"
    DIES_AFTER = "dies after"
    PAUSED = "paused"


class Kind(Enum):
    """What a call does decides what can become of it."""

    READ = "read"
    LOOK = "look"
    CHANGE = "change"


INSTANT: dict[Kind, tuple[Fate, ...]] = {
    # Without time, slow and paused are nothing; dying at a read is dying after the call before it.
    Kind.READ: (Fate.WORKS, Fate.THROTTLED),
    Kind.LOOK: (Fate.WORKS, Fate.STALE),
    Kind.CHANGE: (
        Fate.WORKS,
        Fate.DIES_BEFORE,
        Fate.DIES_AFTER,
        Fate.FAILS_BEFORE,
        Fate.ANSWER_LOST,
        Fate.THROTTLED,
    ),
}


class Gate(Protocol):
    def call(self, name: str, kind: Kind, run: Callable[[], T], stale: Callable[[], T] | None = None) -> T:
        """Make the call, or suffer its fate: raises Busy, Unknown or Crash."""
        ...


def suffer(fate: Fate, name: str, run: Callable[[], T], stale: Callable[[], T] | None) -> T:
    """What the caller gets, and whether the world changed on the way."""
    if fate is Fate.WORKS:
        return run()
    match fate:
        case Fate.DIES_BEFORE:
            raise Crash(name)
        case Fate.FAILS_BEFORE:
            raise Unknown(f"{name}: no connection")  # the caller cannot know that it never arrived
        case Fate.THROTTLED:
            raise Busy(f"{name}: throttled")
        case Fate.STALE if stale is not None:
            return stale()
    answer = run()
    match fate:
        case Fate.DIES_AFTER:
            raise Crash(name)
        case Fate.FAILS_AFTER | Fate.ANSWER_LOST:
            raise Unknown(f"{name}: no answer")
    return answer


@dataclass
class Enumerated:
    """A gate for `every_run`: each schedule of up to `budget` faults, exactly once."""

    choose: Choose
    budget: int
    trace: list[str] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    stale: bool = False
    """Whether the last look was stale."""

    def call(self, name: str, kind: Kind, run: Callable[[], T], stale: Callable[[], T] | None = None) -> T:
        fates = INSTANT[kind]
        fate = Fate.WORKS
        if self.budget:
            self.answers.append(self.choose(len(fates)))
            fate = fates[self.answers[-1]]
        self.budget -= fate is not Fate.WORKS
        if kind is Kind.LOOK:
            self.stale = fate is Fate.STALE
        self.trace.append(f"{name}: {fate.value}")
        return suffer(fate, name, run, stale)

    def story(self) -> str:
        """What happened, and the answers that replay it."""
        return "\n".join([*self.trace, f"replay({self.answers})"])


class Gated(Generic[Record]):
    """A repository behind a gate."""

    def __init__(self, store: Repository[Record], gate: Gate) -> None:
        self._store, self._gate = store, gate

    def read(self, subject: str) -> Versioned[Record]:
        return self._gate.call("read", Kind.READ, lambda: self._store.read(subject))

    def commit(
        self, subject: str, found: Versioned[Record], write: Write[Record], commit_id: str
    ) -> Versioned[Record]:
        name = f"commit {write.events[0].kind}"
        return self._gate.call(
            name, Kind.CHANGE, lambda: self._store.commit(subject, found, write, commit_id)
        )

    def commit_id_at(self, subject: str, version: int) -> str | None:
        return self._gate.call(
            "read commit id", Kind.READ, lambda: self._store.commit_id_at(subject, version)
        )

    def events(self, subject: str, after: int = 0) -> Sequence[Logged]:
        return self._store.events(subject, after)
