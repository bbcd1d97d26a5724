"""Where a follower stands: what it asks next, and how long it rests after a failure.

A watch lasts only a few seconds.  So a server that lives says something at least so often, and a connection
that is half dead is known by its silence, whatever stands between.  In a long watch an idle server says
nothing for a minute.
"""

from dataclasses import dataclass, replace
from typing import Final

INITIAL_S: Final = 120
"""So long may an initial list take that comes as a stream."""
RELIST_S: Final = 900.0
"""After so long everything is listed anew, whatever the watches say."""
FIRST_S: Final = 0.2
PAUSE_MAX_S: Final = 3.0
RETRY_AFTER_MAX_S: Final = 60.0
"""A server that asks for more gets this: it may have meant another clock."""
RESUMES_MAX: Final = 2
"""So often may the server refuse to go on from our version before all is listed anew."""

GONE: Final = 410
THROTTLED: Final = 429
NOT_OFFERED: Final = frozenset({400, 422})
"""What a server answers that knows no initial list by streaming."""
STREAM_TRIES_MAX: Final = 2
"""So often may an initial list by streaming not come before it is asked for page by page."""


@dataclass(frozen=True, slots=True)
class Pace:
    watch_s: int = 4
    """The server ends a watch after so long, and sends a bookmark two seconds before."""
    ends_s: float = 3.5
    """One that ends sooner was cut: by a server that shuts down, or that could not wait for us."""
    silence_max_s: float = 5.5
    """No word for so long: the connection is dead.  Longer than a watch, by what a busy server may take."""
    fed_s: float = 7.0
    """Without a word for so long nothing is current.  A dead connection is noticed before: this is for what
    hangs."""
    lag_s: float = 1.0
    """A change reaches a watch that lives within so long."""


PACE: Final = Pace()


@dataclass(frozen=True, slots=True)
class Course:
    resource_version: str = ""
    """From where to go on.  Empty: all is to be listed."""
    streams: bool = True
    """Whether the server offers the initial list as a stream, as far as is known."""
    failures: int = 0
    """In a row."""
    refusals: int = 0
    """To go on from our version, in a row."""

    @property
    def begins(self) -> bool:
        return not self.resource_version

    @property
    def lists(self) -> bool:
        """Whether the next question is a list of its own."""
        return self.begins and not self.streams

    def query(self, watch_s: int) -> dict[str, str]:
        asked = {"watch": "true", "allowWatchBookmarks": "true"}
        if self.begins:
            initial = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
            return {**asked, **initial, "timeoutSeconds": str(INITIAL_S)}
        return {**asked, "resourceVersion": self.resource_version, "timeoutSeconds": str(watch_s)}

    def at(self, resource_version: str) -> "Course":
        """It goes well, and has come so far."""
        return Course(resource_version, self.streams)

    def failed(self, status: int = 0) -> "Course":
        """After an answer that is no success; 0: there was none, or it broke off."""
        if self.begins and self.streams and status in NOT_OFFERED:
            return replace(self, streams=False)
        if status == GONE:
            return Course("", self.streams, self.failures + 1)
        if self.begins and self.streams and self.failures + 1 >= STREAM_TRIES_MAX and not status:
            return replace(self, streams=False, failures=self.failures + 1)
        refused = 0 < status != THROTTLED and not self.begins
        refusals = self.refusals + 1 if refused else 0
        kept = self.resource_version if refusals < RESUMES_MAX else ""
        return Course(kept, self.streams, self.failures + 1, refusals if kept else 0)

    def pause_s(self, random: float, retry_after_s: float = 0.0) -> float:
        """Never less than the server asks for.  `random` from 0 to 1: many followers do not come at once."""
        if not self.failures:
            return 0.0
        grown_s = min(PAUSE_MAX_S, FIRST_S * 2.0 ** min(self.failures - 1, 10))
        return max(min(retry_after_s, RETRY_AFTER_MAX_S), grown_s * (0.5 + random))
