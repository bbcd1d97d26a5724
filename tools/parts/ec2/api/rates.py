"""The request rates of the real API: token buckets, one set a region.

The sizes are those AWS documents: 5 RunInstances at once and 2 a second after that,
and besides, 1,000 instances at once and 2 a second after that.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from tools.parts.ec2.api.errors import AwsError
from tools.parts.ec2.api.wire import Call


@dataclass
class Bucket:
    """Holds `size` tokens and gains `per_s` of them a second."""

    size: float
    per_s: float
    left: float
    at_s: float

    def holds(self, wanted: float, now_s: float) -> bool:
        self.left = min(self.size, self.left + (now_s - self.at_s) * self.per_s)
        self.at_s = now_s
        return self.left >= wanted


REAL: dict[str, tuple[float, float]] = {
    "RunInstances": (5, 2),
    "RunInstances/instances": (1000, 2),
    "StartInstances": (5, 2),
    "TerminateInstances": (100, 5),
    "TerminateInstances/instances": (1000, 20),
    "DescribeInstances": (100, 20),
    "DescribeInstances/unfiltered": (50, 10),
    "other/describe": (100, 20),
    "other/change": (50, 5),
}
"""Burst and refill a second, by action (and by what else the action costs)."""


@dataclass
class Rates:
    """Whether a call may pass now.  Off, everything passes."""

    now_s: Callable[[], float]
    enabled: bool = True
    limits: dict[str, tuple[float, float]] = field(default_factory=lambda: dict(REAL))
    _buckets: dict[tuple[str, str], Bucket] = field(default_factory=dict)

    def change(self, enabled: bool, limits: dict[str, tuple[float, float]]) -> None:
        """Begin anew with full buckets."""
        self.enabled = enabled
        self.limits = {**REAL, **limits}
        self._buckets.clear()

    def admit(self, call: Call) -> None:
        """Take this call's tokens, or refuse it and take none."""
        if not self.enabled:
            return
        costs = [(self._bucket(call.region, key), cost) for key, cost in self._costs(call)]
        if not all(bucket.holds(cost, self.now_s()) for bucket, cost in costs):
            raise AwsError("RequestLimitExceeded", "Request limit exceeded.", 503)
        for bucket, cost in costs:
            bucket.left -= cost

    def _costs(self, call: Call) -> list[tuple[str, float]]:
        key = call.action
        if key == "DescribeInstances" and not call.selective:
            key = "DescribeInstances/unfiltered"
        if key not in self.limits:
            key = "other/change" if call.changes else "other/describe"
        costs = [(key, 1.0)]
        if f"{call.action}/instances" in self.limits:
            costs.append((f"{call.action}/instances", float(call.instance_count)))
        return costs

    def _bucket(self, region: str, key: str) -> Bucket:
        size, per_s = self.limits[key]
        return self._buckets.setdefault((region, key), Bucket(size, per_s, size, self.now_s()))
