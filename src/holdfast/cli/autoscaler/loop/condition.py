"""What a kubelet is told of the process: whether it lives, and whether it can do its work."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from holdfast.adapters.clock import mono_s
from holdfast.autoscaler.result import TickResult

PATIENCE_S: Final = 120.0
"""So long, and three times the rest between two turns, may pass without the end of a turn."""


@dataclass
class Condition:
    """Times are on a clock that never steps: if the machine's own is set, nothing looks hung that is not."""

    beside: list[Callable[[], str]] = field(default_factory=list)
    """What works beside the turns: each says what keeps it from that; empty: nothing does."""
    _ended_s: float = field(default_factory=mono_s)
    """The end of the last turn; before the first one, the start."""
    _failure: str | None = "no turn has ended yet"
    """What the last turn came to, if it could not do its work."""

    def turned(self, result: TickResult) -> None:
        self._failure = f"the last turn was {result.told}" if result.outcome.failed else None
        self._ended_s = mono_s()

    def unhealthy(self, now_s: float, every_s: float) -> str:
        """Why the process is to be started anew; empty: it turns."""
        silent_s = now_s - self._ended_s
        if silent_s <= 3 * every_s + PATIENCE_S:
            return ""
        return f"no turn has ended for {silent_s:.0f} s"

    def unready(self, now_s: float, every_s: float) -> Iterator[str]:
        """Why it cannot do its work; none: it does."""
        if hung := self.unhealthy(now_s, every_s):
            yield hung
        elif self._failure:
            yield self._failure
        yield from filter(None, (each() for each in self.beside))
