"""Agents that wait for a new goal: woken when their group has changed, on whichever server.

Each server asks the database a few times a second which groups have changed.  Three databases behave
alike this way, and an agent learns of its promotion within a fraction of a second.
"""

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Final

from holdfast.failover.ports import GroupStore
from holdfast.kernel import HoldfastError

ASK_EVERY_S: Final = 0.2


class Changes:
    """Watches the change numbers of all groups, and wakes those who wait for one of them."""

    def __init__(
        self, store: GroupStore, changed: Callable[[str, int], None], pause_s: float = ASK_EVERY_S
    ) -> None:
        """`changed` is told of every group that changed, with its change number, on the watching thread."""
        self._store, self._changed, self._pause_s = store, changed, pause_s
        self._seen_n = 0
        self._sleepers: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, name="changes", daemon=True)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(timeout=10)

    async def wait(self, subject: str, for_s: float) -> bool:
        """True once the group has changed; False when the time is over.  Call it before reading the group."""
        event = asyncio.Event()
        self._sleepers[subject].add(event)
        try:
            await asyncio.wait_for(event.wait(), for_s)
            return True
        except TimeoutError:
            return False
        finally:
            self._sleepers[subject].discard(event)
            if not self._sleepers[subject]:
                del self._sleepers[subject]

    def wake_all(self) -> None:
        """The server stops: those who wait go to another one.  From any thread or signal handler."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._ring_all)

    def _ring_all(self) -> None:
        for subject in list(self._sleepers):
            self._ring(subject)

    def wake(self, subject: str) -> None:
        """From any thread: a change of this server's own is told without asking the database."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._ring, subject)

    def _ring(self, subject: str) -> None:
        for event in self._sleepers.get(subject, ()):
            event.set()

    def _work(self) -> None:
        while not self._stopped.wait(self._pause_s):
            try:
                found = self._store.changed(self._seen_n)
            except HoldfastError:
                continue  # the database is away; agents ask again by themselves
            for subject, n in found:
                self._seen_n = max(self._seen_n, n)
                self._changed(subject, n)
                self.wake(subject)
