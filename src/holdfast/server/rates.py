"""So many requests a second for each client: one tenant cannot take the server from the others."""

import math
import threading
from collections.abc import Callable
from typing import Final

from holdfast.failover.api.codes import Code, Refusal

BURST_S: Final = 5.0
"""A client may use up so many seconds' worth at once."""


class Rates:
    """A bucket for each client, which fills with time."""

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._buckets: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def take(self, client_id: str, per_second: int) -> None:
        """Raises Refusal(RATE_LIMITED) with the time to wait.  0: no limit."""
        if per_second <= 0:
            return
        now_s = self._monotonic_s()
        with self._lock:
            left, since_s = self._buckets.get(client_id, (per_second * BURST_S, now_s))
            left = min(per_second * BURST_S, left + (now_s - since_s) * per_second)
            self._buckets[client_id] = (left - 1 if left >= 1 else left, now_s)
        if left < 1:
            wait_s = max(1.0, math.ceil((1 - left) / per_second))
            raise Refusal(
                Code.RATE_LIMITED,
                f"this client may send {per_second} requests a second; wait {wait_s:.0f} s",
                retry_after_s=wait_s,
            )
