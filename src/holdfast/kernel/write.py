"""A record with its version, and the write that replaces it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from holdfast.kernel.event import NOTHING, Event

Record = TypeVar("Record")

EVENTS_MAX: Final = 99
"""A transaction of 100 items holds the record and these.  A workflow with more news writes twice."""


@dataclass(frozen=True, slots=True)
class Versioned(Generic[Record]):
    """A record as it was read.  Version 0: nothing of ours has been written yet."""

    value: Record
    version: int
    commit_id: str
    guarded_attributes: Mapping[str, object] = field(
        default_factory=lambda: NOTHING, compare=False, repr=False
    )
    """What the repository wants to find unchanged when it commits; opaque to everybody else."""
    restored_from: int | None = field(default=None, compare=False)
    """The version that is stored, where the log goes on beyond it: the record was restored to an earlier
    point.  `version` is then the last one of the log, and the next commit goes on behind it."""


@dataclass(frozen=True, slots=True)
class Write(Generic[Record]):
    """A new record and its events: stored together or not at all.

    A write without an event is refused.  Its commit id would stand nowhere but in the
    record, the next commit would wipe it out, and after a lost answer no process could say
    any more whether it had been there.
    """

    value: Record
    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.events) <= EVENTS_MAX:
            raise ValueError(f"a write carries 1 to {EVENTS_MAX} events, not {len(self.events)}")
