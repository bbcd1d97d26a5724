"""The rests of a loop, and what ends them before their time."""

import threading
from dataclasses import dataclass, field
from typing import Final

from holdfast.adapters.clock import mono_s

TOGETHER_S: Final = 0.03
"""What happens within so long is seen by one look."""
APART_MAX_S: Final = 1.0
"""It rests for as long as it has worked, or for this, before a change ends a rest: so it never takes a whole
core.  A notice does not wait for that."""


@dataclass
class Rests:
    """News are set by other threads.  Only the loop rests."""

    stop: threading.Event = field(default_factory=threading.Event)
    _news: threading.Event = field(default_factory=threading.Event)
    _notices: threading.Event = field(default_factory=threading.Event)
    _ended_s: float = field(default_factory=mono_s)
    """When the last one ended."""

    def wake(self) -> None:
        """Something has changed that a turn must see."""
        self._news.set()

    def wake_for_notice(self) -> None:
        """A machine is about to be taken: not even a drain may hold that up."""
        self._notices.set()
        self._news.set()

    def end(self) -> None:
        """It rests no more."""
        self.stop.set()
        self.wake_for_notice()

    def until_news(self, pause_s: float) -> None:
        """Between two turns."""
        self._rest(self._news, pause_s)

    def between_rounds(self, pause_s: float, drains: bool) -> bool:
        """See `Autoscaler.pause`.  Pods that leave a node, and a scheduler that shall see its cordon, keep
        their time: only a notice ends that."""
        self._rest(self._notices if drains else self._news, pause_s)
        return not self.stop.is_set()

    def _rest(self, ended_by: threading.Event, pause_s: float) -> None:
        if self.stop.is_set():
            return
        worked_s = mono_s() - self._ended_s
        if ended_by.wait(pause_s) and pause_s:
            apart_s = max(TOGETHER_S, min(worked_s, APART_MAX_S))
            if self._notices.wait(apart_s):
                self.stop.wait(TOGETHER_S)
        self._notices.clear()
        if ended_by is self._news:
            self._news.clear()
        self._ended_s = mono_s()
