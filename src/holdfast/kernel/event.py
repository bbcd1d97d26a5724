"""Events: everything a person may ask about later is answered from these."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Self

EVENTS_KEPT_S: Final = 90 * 24 * 3600
"""A store may drop an event after so long."""
NOTHING: Final[Mapping[str, float]] = MappingProxyType({})


class Severity(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    SUCCESS = "success"
    WARNING = "warning"
    ERROR = "error"


class EventKind(StrEnum):
    """The kinds of one part, as a table: stored name, sentence, severity.

    A member is its stored name.  The sentence may name the subject of an event: `{about} joined`.
    """

    sentence: str
    severity: Severity

    def __new__(cls, stored: str, sentence: str, severity: Severity = Severity.INFO) -> Self:
        kind = str.__new__(cls, stored)
        kind._value_ = stored
        kind.sentence, kind.severity = sentence, severity
        return kind

    def told(self, about: str) -> str:
        """The sentence for people."""
        return self.sentence.format(about=about or "?")


@dataclass(frozen=True, slots=True)
class Event:
    """What happened, to whom and why, in the words of the workflow that says it."""

    kind: str
    at_s: float
    about: str = ""
    reason: str = ""
    """Why, in words for people."""
    numbers: Mapping[str, float] = field(default_factory=lambda: NOTHING, hash=False)
    code: str = ""
    """Why, as a stable code for filters and alerts; empty where the kind says it all."""


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
