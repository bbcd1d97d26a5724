"""What the driver needs from outside: a repository, a clock, fresh ids.

Every method says what a second identical call does, because every call is a place to die.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from holdfast.kernel.event import Logged
from holdfast.kernel.write import Versioned, Write

Record = TypeVar("Record")

NewId = Callable[[], str]
"""Draws an id that was never drawn before.  Never derived from content: two processes
that write the same thing must not both believe that they won."""

Random = Callable[[], float]
"""Draws a number from 0 up to 1, for jitter.  A port, so that a seed replays a history."""


class Clock(Protocol):
    def now_s(self) -> float:
        """Seconds since the epoch."""
        ...

    def sleep(self, seconds: float) -> None:
        """Return after that long."""
        ...


class Repository(Protocol[Record]):
    """Keeps records and their events.  Each part has one, in its own terms.

    `holdfast.testing.contract` says what every implementation promises.
    """

    def read(self, subject: str) -> Versioned[Record]:
        """The latest committed record, strongly consistent; the empty one at version 0 if there is none.

        Repeatable.  Raises Busy, Unknown, or Corrupt for what makes no sense.
        """
        ...

    def commit(
        self, subject: str, found: Versioned[Record], write: Write[Record], commit_id: str
    ) -> Versioned[Record]:
        """Store record and events together, if the record is still the one found.

        Raises Conflict, Busy or Unknown.  The same call with the same commit id is done
        once: if the first try landed, the second one answers as the first would have,
        however much later it comes.  Fence: the version.
        """
        ...

    def commit_id_at(self, subject: str, version: int) -> str | None:
        """The commit id behind a version, None if it was never written.  Repeatable."""
        ...

    def events(self, subject: str, after: int = 0) -> Sequence[Logged]:
        """Events of all versions above `after`, in order.  Repeatable."""
        ...
