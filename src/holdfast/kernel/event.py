"""Events: everything a person may ask about later is answered from these."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

EVENTS_KEPT_S: Final = 90 * 24 * 3600
"""A store may drop an event after so long."""
NOTHING: Final[Mapping[str, float]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Event:
    """What happened, to whom and why, in the words of the workflow that says it."""

    kind: str
    at_s: float
    about: str = ""
    reason: str = ""
    numbers: Mapping[str, float] = field(default_factory=lambda: NOTHING, hash=False)


@dataclass(frozen=True, slots=True)
class Logged:
    """An event in its place: the n-th of the commit that made this version."""

    subject: str
    version: int
    n: int
    commit_id: str
    event: Event

    @property
    def sort_key(self) -> str:
        return sort_key(self.version, self.n)


def sort_key(version: int, n: int) -> str:
    """Text that sorts as the log reads; twelve digits outlast a commit a millisecond for 30 years."""
    return f"{version:012d}#{n:02d}"
