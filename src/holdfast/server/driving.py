"""The threads that drive groups: what is due by the clock, and what has just changed.

Once a second a server asks the database which groups are due; a change on this server makes its group due
at once.  A group is driven by one thread of a server at a time, and by one server at a time where that can
be had: the claim spares double work, and nothing depends on it.
"""

import logging
import threading
from collections.abc import Callable
from typing import Final

from holdfast.failover.ports import GroupStore
from holdfast.kernel import Busy, Corrupt, HoldfastError

LOG = logging.getLogger("holdfast")
SWEEP_EVERY_S: Final = 1.0
CLAIM_S: Final = 5.0
DUE_AT_ONCE: Final = 500


class Driving:
    def __init__(
        self,
        store: GroupStore,
        drive: Callable[[str], object],
        *,
        owner: str,
        threads: int,
        failed: Callable[[str], None] = lambda error: None,
        each_sweep: Callable[[], None] = lambda: None,
        sweep_every_s: float = SWEEP_EVERY_S,
    ) -> None:
        """`drive` takes a group as far as it goes now.  `failed` is told of each error by its name.
        `each_sweep` asks the database what else must be known of it every second."""
        self._store, self._drive, self._owner, self._failed = store, drive, owner, failed
        self._each_sweep, self._sweep_every_s = each_sweep, sweep_every_s
        self._arrived = threading.Condition()
        self._waiting: dict[str, bool] = {}
        """Groups to be driven, in order, and whether without a claim: our own changes are ours to drive."""
        self._running: set[str] = set()
        self._again: set[str] = set()
        self._stopped = False
        self._sleep = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, name=f"drive-{n}", daemon=True) for n in range(threads)
        ]
        self._threads.append(threading.Thread(target=self._sweep, name="due", daemon=True))

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End after what is being driven.  What is left is found by another server, or by the next one."""
        with self._arrived:
            self._stopped = True
            self._waiting.clear()
            self._arrived.notify_all()
        self._sleep.set()
        for thread in self._threads:
            thread.join(timeout=10)

    def nudge(self, subject: str) -> None:
        """Drive this group at once, because something about it has just changed.  From any thread."""
        self._add(subject, unclaimed=True)

    def _add(self, subject: str, *, unclaimed: bool) -> None:
        with self._arrived:
            if self._stopped:
                return
            if subject in self._running:
                self._again.add(subject)  # what is running may have looked before the change
                return
            self._waiting[subject] = self._waiting.get(subject, False) or unclaimed
            self._arrived.notify()

    def _sweep(self) -> None:
        while not self._sleep.wait(self._sweep_every_s):
            try:
                self._each_sweep()
                for subject in self._store.due(DUE_AT_ONCE):
                    self._add(subject, unclaimed=False)
            except HoldfastError as error:
                self._failed(type(error).__name__)
                LOG.warning("the database cannot be asked what is due: %s", error)
            except Exception:  # a defect of one sweep must not end the thread that makes all others
                self._failed("defect")
                LOG.exception("a sweep failed")

    def _work(self) -> None:
        while True:
            with self._arrived:
                while not self._waiting and not self._stopped:
                    self._arrived.wait()
                if self._stopped:
                    return
                subject = next(iter(self._waiting))
                unclaimed = self._waiting.pop(subject)
                self._running.add(subject)
            try:
                self._take(subject, unclaimed)
            finally:
                with self._arrived:
                    self._running.discard(subject)
                    again = subject in self._again
                    self._again.discard(subject)
                if again:
                    self._add(subject, unclaimed=True)

    def _take(self, subject: str, unclaimed: bool) -> None:
        """One bad group never keeps a thread from the good ones."""
        try:
            if unclaimed or self._store.claim(subject, self._owner, CLAIM_S):
                self._drive(subject)
        except Corrupt as error:
            self._failed("Corrupt")
            LOG.error("%s cannot be driven: %s", subject, error)
        except HoldfastError as error:
            self._failed(type(error).__name__)
            (LOG.info if isinstance(error, Busy) else LOG.warning)("%s: %s", subject, error)
        except Exception:
            self._failed("defect")
            LOG.exception("%s cannot be driven", subject)
