"""Things that happen by themselves after a while, under the one lock."""

import heapq
import itertools
import threading
import time
from collections.abc import Callable


class Timers:
    def __init__(self, lock: threading.RLock) -> None:
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._changed = threading.Condition(lock)
        threading.Thread(target=self._run, daemon=True).start()

    def after(self, delay_s: float, act: Callable[[], None]) -> None:
        """Call `act`, holding the lock, once the delay has passed."""
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + delay_s, next(self._order), act))
            self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while True:
                left_s = self._due[0][0] - time.monotonic() if self._due else None
                if left_s is None or left_s > 0:
                    self._changed.wait(left_s)
                else:
                    heapq.heappop(self._due)[2]()
