"""Heartbeats: gathered on the event loop, stored many at a time by one thread.

There is no timer: a batch is what arrived while the one before was stored.  A batch that fails is cut in
two and tried again, so that one bad row does not cost the others their leases; but only for a while, so
that a database which is away is not asked a thousand times.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from holdfast.failover.ports import Beat, Grant, GroupStore, Term
from holdfast.kernel import Busy, Unknown

LOG = logging.getLogger("holdfast")
BATCH_MAX: Final = 1_000
CUT_FOR_S: Final = 2.0
"""For so long after its first try a batch is cut further: less than a heartbeat."""
Waiting = tuple[Beat, "asyncio.Future[Grant]"]


class Heartbeats:
    def __init__(
        self, store: GroupStore, term: Term, stored: Callable[[Sequence[Beat], Sequence[Grant]], None]
    ) -> None:
        """`stored` is told of every batch, on the storing thread."""
        self._store, self._term, self._stored = store, term, stored
        self._waiting: list[Waiting] = []
        self._arrived = threading.Condition()
        self._stopped = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="heartbeats", daemon=True)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread.start()

    def stop(self) -> None:
        """Store what has arrived, then end."""
        with self._arrived:
            self._stopped = True
            self._arrived.notify()
        self._thread.join(timeout=10)

    async def beat(self, beat: Beat) -> Grant:
        """Raises Busy or Unknown if it could not be stored: the agent sends another one anyway."""
        future: asyncio.Future[Grant] = asyncio.get_running_loop().create_future()
        with self._arrived:
            if self._stopped:
                raise Busy("the server is stopping")
            self._waiting.append((beat, future))
            self._arrived.notify()
        return await future

    def _work(self) -> None:
        while True:
            with self._arrived:
                while not self._waiting and not self._stopped:
                    self._arrived.wait()
                batch, self._waiting = self._waiting[:BATCH_MAX], self._waiting[BATCH_MAX:]
            if not batch:
                return
            self._store_batch(batch, cut_until_s=time.monotonic() + CUT_FOR_S)

    def _store_batch(self, batch: list[Waiting], cut_until_s: float) -> None:
        beats = [beat for beat, _ in batch]
        try:
            grants = self._store.renew(beats, self._term)
        except (Busy, Unknown) as error:
            half = len(batch) // 2
            if half and time.monotonic() < cut_until_s:
                self._store_batch(batch[:half], cut_until_s)
                self._store_batch(batch[half:], cut_until_s)
            else:
                self._answer(batch, [error] * len(batch))
            return
        except Exception as error:  # a defect of one batch must not end the thread that stores all others
            LOG.exception("a batch of heartbeats failed")
            self._answer(batch, [error] * len(batch))
            return
        held = Busy("another transaction holds the instance's row")
        self._answer(batch, [grant if grant.stored else held for grant in grants])
        stored = [(beat, grant) for beat, grant in zip(beats, grants, strict=True) if grant.stored]
        self._stored([beat for beat, _ in stored], [grant for _, grant in stored])

    def _answer(self, batch: list[Waiting], answers: Sequence[Grant | Exception]) -> None:
        assert self._loop is not None

        def resolve() -> None:
            for (_, future), answer in zip(batch, answers, strict=True):
                if future.done():
                    continue  # the agent has left
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)

        self._loop.call_soon_threadsafe(resolve)
