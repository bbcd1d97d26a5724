"""Beside a loop or a server: takes EC2's notices from their queue and keeps those of our machines.

A message is deleted only after its notice is kept; one that could not be kept comes again.  One of a foreign
machine is deleted, and nothing is kept of it.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from holdfast.adapters.aws.events import notices_of
from holdfast.adapters.logs import LOGGER
from holdfast.kernel import Busy, HoldfastError, Unknown

if TYPE_CHECKING:
    from holdfast.cloud import Notice

PAUSE_S: Final = 5.0
"""After a queue that did not answer."""
REFUSED_PAUSE_S: Final = 60.0
"""After one that an operator must mend."""

LOG = logging.getLogger(LOGGER)


class Queue(Protocol):
    def receive(self) -> Sequence[dict[str, Any]]: ...

    def delete(self, messages: Sequence[dict[str, Any]]) -> None: ...


@dataclass
class Listener:
    queue: Queue
    keep: "Callable[[Sequence[Notice]], Sequence[Notice]]"
    """Keeps those of our machines, and returns them."""
    heard: Callable[[], None]
    """Called when some were kept."""
    stop: threading.Event
    trouble: str = ""
    """Why notices are not heard; empty: they are.  Said again only when it changes."""

    def run(self) -> None:
        while not self.stop.is_set():
            self.stop.wait(self._survive())

    def _survive(self) -> float:
        """A thread that died of a defect would be missed by no one, until machines are gone unannounced."""
        try:
            return self.take()
        except Exception as defect:
            LOG.exception("a defect: the queue of notices is asked again in %g s", REFUSED_PAUSE_S)
            self.trouble = f"the queue of notices: a defect: {defect!r}"
            return REFUSED_PAUSE_S

    def take(self) -> float:
        """One long poll.  How long to rest before the next one."""
        try:
            messages = self.queue.receive()
            if messages:
                self._keep(messages)
        except (Busy, Unknown) as error:
            return self._say(str(error), PAUSE_S)
        except HoldfastError as error:
            return self._say(str(error), REFUSED_PAUSE_S)
        if self.trouble:
            LOG.info("the queue of notices answers again")
        self.trouble = ""
        return 0.0

    def _keep(self, messages: Sequence[dict[str, Any]]) -> None:
        parsed = notices_of({"Records": list(messages)})
        for problem in parsed.problems:
            LOG.error("not understood, and dropped: %s", problem)
        kept = self.keep(parsed.notices) if parsed.notices else ()
        for notice in kept:
            LOG.info("heard: %s %s", notice.kind, notice.instance_id)
        if kept:
            self.heard()
        self.queue.delete(messages)

    def _say(self, trouble: str, pause_s: float) -> float:
        told = f"the queue of notices: {trouble}"
        if told != self.trouble:
            LOG.error("%s", told)
        self.trouble = told
        return pause_s


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """While inside.  The thread is left behind at the end: its long poll keeps no process alive."""
    if listener is not None:
        threading.Thread(target=listener.run, name="notices", daemon=True).start()
    yield
