"""So many requests a second for each client, and so many unknown tokens for each address.

One tenant cannot take the server from the others, and a stranger cannot keep its database busy.
"""

import ipaddress
import math
import threading
from collections.abc import Callable
from typing import Final

from holdfast.failover.api.codes import Code, Refusal

BURST_S: Final = 5.0
"""Of everything, so many seconds' worth may be used up at once."""
STRANGERS_PER_SECOND: Final = 50
ADDRESSES_MAX: Final = 10_000
"""Of more addresses than these, all new ones share a bucket."""


class Buckets:
    """A bucket for each key, which fills with time."""

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._buckets: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def take(self, key: str, per_second: int) -> float:
        """0: taken; else how many seconds to wait."""
        now_s = self._monotonic_s()
        with self._lock:
            left = self._left(key, per_second, now_s)
            self._buckets[key] = (left - 1 if left >= 1 else left, now_s)
        return 0.0 if left >= 1 else max(1.0, math.ceil((1 - left) / per_second))

    def give_back(self, key: str) -> None:
        with self._lock:
            if found := self._buckets.get(key):
                self._buckets[key] = (found[0] + 1, found[1])

    def has_room(self, key: str, keys_max: int, per_second: int) -> bool:
        """Whether this key has a bucket, or may have one; full buckets are dropped for it."""
        now_s = self._monotonic_s()
        with self._lock:
            if key not in self._buckets and len(self._buckets) >= keys_max:
                full = per_second * BURST_S
                self._buckets = {
                    each: held
                    for each, held in self._buckets.items()
                    if self._left(each, per_second, now_s) < full
                }
            return key in self._buckets or len(self._buckets) < keys_max

    def _left(self, key: str, per_second: int, now_s: float) -> float:
        left, since_s = self._buckets.get(key, (per_second * BURST_S, now_s))
        return min(per_second * BURST_S, left + (now_s - since_s) * per_second)


class Rates:
    """Of each client."""

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._buckets = Buckets(monotonic_s)

    def take(self, client_id: str, per_second: int) -> None:
        """Raises Refusal(RATE_LIMITED) with the time to wait.  0: no limit."""
        if per_second > 0 and (wait_s := self._buckets.take(client_id, per_second)):
            raise Refusal(
                Code.RATE_LIMITED,
                f"this client may send {per_second} requests a second; wait {wait_s:.0f} s",
                retry_after_s=wait_s,
            )


class Strangers:
    """Of each address: look-ups of tokens that this server has never seen to be good.

    Rule 1: a token that it knows spends nothing, so no flood keeps an enrolled agent away.
    Rule 2: a look-up is paid before it begins, and given back where the token proves good.
    Rule 3: the addresses of one IPv6 network of 64 bits count as one.
    """

    def __init__(self, monotonic_s: Callable[[], float], per_second: int = STRANGERS_PER_SECOND) -> None:
        self._buckets, self._per_second = Buckets(monotonic_s), per_second

    def take(self, address: str) -> str:
        """What is to be given back.  Raises Refusal(RATE_LIMITED) with the time to wait."""
        key = _network(address)
        if not self._buckets.has_room(key, ADDRESSES_MAX, self._per_second):
            key = ""
        if wait_s := self._buckets.take(key, self._per_second):
            raise Refusal(
                Code.RATE_LIMITED,
                f"too many unknown tokens came from this address; wait {wait_s:.0f} s, and check the token",
                retry_after_s=wait_s,
            )
        return key

    def give_back(self, key: str) -> None:
        self._buckets.give_back(key)


def _network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address
