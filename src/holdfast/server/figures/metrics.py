"""The server's figures for Prometheus, by the names that the designs gave them.

What was done is counted by the server that did it.  What is so is asked of the database at each scrape, so
every server says the same, and alerts take the greatest.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

Labels = tuple[str, ...]
BUCKETS_S: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0)

COUNTERS: Final[Mapping[str, tuple[str, Labels]]] = {
    "instance_promotions": ("Promotions that were confirmed.", ("client", "kind")),
    "instance_promotion_failures": ("Promotions that failed.", ("client", "kind")),
    "instance_revocations": ("Primaries whose epoch was ended.", ("client", "code")),
    "optimistic_lock_conflicts": ("Commits that lost against another.", ("operation",)),
    "agent_heartbeats": ("Heartbeats by what they were answered.", ("answer",)),
    "agent_registrations": ("Registrations by what they were answered.", ("answer",)),
    "emergency_events": ("Notices that agents or the cloud sent.", ("client", "kind")),
    "failover_http_requests": ("Requests by operation and HTTP status.", ("operation", "status")),
    "failover_drive_errors": ("Groups that could not be driven on, by error.", ("error",)),
}
PROMOTION_SECONDS: Final = "instance_promotion_duration_seconds"


class Figures:
    """Counts since this process began.  Any thread may count."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, Counter[Labels]] = {name: Counter() for name in COUNTERS}
        self._durations: dict[Labels, list[float]] = {}

    def count(self, name: str, *labels: str, by: int = 1) -> None:
        assert len(labels) == len(COUNTERS[name][1]), f"{name} has the labels {COUNTERS[name][1]}"
        with self._lock:
            self._counts[name][labels] += by

    def promotion_took(self, client_id: str, kind: str, seconds: float) -> None:
        """From the decision to take over until the new primary has confirmed."""
        with self._lock:
            found = self._durations.setdefault((client_id, kind), [0.0] * (len(BUCKETS_S) + 2))
            for n, limit_s in enumerate((*BUCKETS_S, float("inf"))):
                found[n] += seconds <= limit_s
            found[-1] += seconds

    def families(self) -> Iterator[Metric]:
        with self._lock:
            counts = {name: Counter(counted) for name, counted in self._counts.items()}
            durations = {labels: list(found) for labels, found in self._durations.items()}
        for name, (what, labels) in COUNTERS.items():
            family = CounterMetricFamily(name, what, labels=labels)
            for values, count in sorted(counts[name].items()):
                family.add_metric(values, count)
            yield family
        histogram = HistogramMetricFamily(
            PROMOTION_SECONDS, "From the decision to the confirmed promotion.", labels=("client", "kind")
        )
        for values, found in sorted(durations.items()):
            limits = [f"{limit_s:g}" for limit_s in BUCKETS_S] + ["+Inf"]
            histogram.add_metric(values, list(zip(limits, found[:-1], strict=True)), found[-1])
        yield histogram


Gauge = tuple[str, str, Mapping[str, str], float]
"""Name, help, labels, value."""


class Collector:
    """What Prometheus gets: the counts, and what the database says at this moment."""

    def __init__(self, figures: Figures, gauges: Callable[[], Sequence[Gauge]]) -> None:
        self._figures, self._gauges = figures, gauges

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Any] = {}
        for name, what, labels, value in self._gauges():
            family = families.setdefault(name, GaugeMetricFamily(name, what, labels=list(labels)))
            family.add_metric(list(labels.values()), value)
        yield from families.values()
        yield from self._figures.families()

    def registry(self) -> CollectorRegistry:
        made = CollectorRegistry(auto_describe=False)
        made.register(self)
        return made
