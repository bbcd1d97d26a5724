"""What the tests and the demo know of a scenario."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from holdfast.kernel import Do, Done, Logged, Repository, Versioned, Wait, Write

Record = TypeVar("Record")


class Scenario(Protocol):
    name: str
    accidents: list[str]
    """What no schedule may do, and one did."""
    actions: int
    """Actions that came to their end."""

    def begin(self) -> None:
        """Start living."""
        ...

    def calm(self) -> None:
        """Nothing new happens from here on: what is open must come to its end."""
        ...

    def unhealed(self) -> Sequence[str]:
        """What is still not as it should be."""
        ...

    def phase(self) -> str:
        """Where the open action stands, in one word."""
        ...

    def next_step(self) -> str:
        """What the next process will do, in words."""
        ...

    def events(self, after: int) -> Sequence[Logged]:
        """What has been told since that version."""
        ...


ABOUT = ("instance_id", "replica_id", "worker_id")
"""Whom an effect is about, whatever the part."""


def named(effect: Any) -> str:
    """An effect in two words: what is done, and to which instance or worker."""
    about = next((getattr(effect, name) for name in ABOUT if getattr(effect, name, "")), "")
    return f"{type(effect).__name__} {about}".strip()


def describe(ahead: Write[Any] | Do[Any] | Wait | Done) -> str:
    """A step in words."""
    match ahead:
        case Write(events=events):
            return f"write {events[0].kind}"
        case Do(effects):
            return "do " + ", ".join(map(named, effects))
        case Wait(why=why):
            return f"wait: {why}"
        case Done():
            return "nothing to do"


class Watched(Generic[Record]):
    """A repository whose every commit is shown to a judge: the record before, and after."""

    def __init__(
        self,
        store: Repository[Record],
        judge: Callable[[Versioned[Record], Versioned[Record], Write[Record]], None],
    ) -> None:
        self._store, self._judge = store, judge

    def read(self, subject: str) -> Versioned[Record]:
        return self._store.read(subject)

    def commit(
        self, subject: str, found: Versioned[Record], write: Write[Record], commit_id: str
    ) -> Versioned[Record]:
        before = self._store.read(subject)
        after = self._store.commit(subject, found, write, commit_id)
        if after.version > before.version:
            self._judge(before, after, write)
        return after

    def commit_id_at(self, subject: str, version: int) -> str | None:
        return self._store.commit_id_at(subject, version)

    def events(self, subject: str, after: int = 0) -> Sequence[Logged]:
        return self._store.events(subject, after)
