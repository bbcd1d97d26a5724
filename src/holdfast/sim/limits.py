"""The limits of the real services, so that nothing is proven in a world more generous than ours."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from holdfast.kernel import Busy, Unknown

WRITE_UNITS_PER_S: Final = 1_000.0
"""What one item takes; a transaction costs two units a kilobyte."""
ITEM_BYTES_MAX: Final = 400_000
READ_UNITS_PER_S: Final = 3_000.0
"""A strongly consistent read costs one for every four kilobytes."""
TOKEN_S: Final = 600.0
"""How long a request token is remembered."""
RUN_INSTANCES_PER_S: Final = 2.0


@dataclass
class Bucket:
    """Tokens that drip in at a rate, up to a burst."""

    rate: float
    burst: float
    now_s: Callable[[], float]

    def __post_init__(self) -> None:
        self._left, self._at_s = self.burst, self.now_s()

    def take(self, amount: float, what: str) -> None:
        """Take that many, or raise Busy."""
        now_s = self.now_s()
        self._left = min(self.burst, self._left + (now_s - self._at_s) * self.rate)
        self._at_s = now_s
        if self._left < amount:
            raise Busy(f"{what}: throttled")
        self._left -= amount


@dataclass(frozen=True, slots=True)
class _Remembered:
    at_s: float
    request: object
    answer: Any


class ItemLimits:
    """The limits of one DynamoDB item: units, size, colliding transactions, a short memory for tokens."""

    def __init__(self, now_s: Callable[[], float], *, transaction_s: float = 0.0) -> None:
        self._now_s = now_s
        self._units = Bucket(WRITE_UNITS_PER_S, WRITE_UNITS_PER_S, now_s)
        self._log_units = Bucket(WRITE_UNITS_PER_S, WRITE_UNITS_PER_S, now_s)
        self._reads = Bucket(READ_UNITS_PER_S, READ_UNITS_PER_S, now_s)
        self._tokens: dict[str, _Remembered] = {}
        self._transaction_s, self._taken_until_s = transaction_s, 0.0
        self.bytes_max = 0
        """The largest item so far."""
        self.commits = 0

    def collide(self, subject: str) -> None:
        """Begin a transaction, or raise Busy while another has the item."""
        now_s = self._now_s()
        if now_s < self._taken_until_s:
            raise Busy(f"{subject}: another transaction has it")
        self._taken_until_s = now_s + self._transaction_s

    def charge(self, subject: str, item: Mapping[str, Any], events: int) -> None:
        """Take the units that this transaction costs, or raise Busy."""
        size = _size(item)
        if size > ITEM_BYTES_MAX:
            raise ValueError(f"{subject}: {size} bytes are too many for one item")
        self._units.take(2 * math.ceil(size / 1024), subject)
        self._log_units.take(2 * events, f"the log of {subject}")
        self.bytes_max, self.commits = max(self.bytes_max, size), self.commits + 1

    def charge_read(self, subject: str, item: Mapping[str, Any]) -> None:
        """Take the units that a strongly consistent read costs, or raise Busy."""
        self._reads.take(math.ceil(_size(item) / 4096), subject)

    def recall(self, token: str, request: object) -> Any:
        """The answer to the same request within ten minutes; None if it is not remembered."""
        remembered = self._tokens.get(token)
        if remembered is None or self._now_s() - remembered.at_s >= TOKEN_S:
            return None
        if remembered.request != request:
            raise Unknown(f"the token {token} was used for another request")
        return remembered.answer

    def remember(self, token: str, request: object, answer: Any) -> None:
        now_s = self._now_s()
        self._tokens[token] = _Remembered(now_s, request, answer)
        oldest = next(iter(self._tokens))
        if now_s - self._tokens[oldest].at_s >= TOKEN_S:
            del self._tokens[oldest]


def _size(item: Mapping[str, Any]) -> int:
    return sum(len(name) + len(str(value)) for name, value in item.items())
