"""The figures of the daemon, for Prometheus to fetch."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holdfast.autoscaler.reasons import TickOutcome
from holdfast.autoscaler.report.gauges import Gauge, counted
from holdfast.kernel import Logged

if TYPE_CHECKING:
    from prometheus_client.core import Metric
    from prometheus_client.registry import CollectorRegistry

    from holdfast.adapters.kubernetes.watch.watches import Watches


Watched = tuple[str, str, float]
"""A name, what it says, and the figure."""


def of_watches(watches: "Watches") -> Sequence[Watched]:
    current = not watches.doubt()
    return (
        ("holdfast_watch_current", "1 while what is watched is known to be current.", float(current)),
        ("holdfast_watch_listings", "How often a kind of objects was listed whole.", watches.listings),
    )


@dataclass(eq=False)
class MetricsCollector:
    """What the last turn left to be seen.  Replaced whole: a scrape sees one turn or the next."""

    cluster: str
    gauges: Sequence[Gauge] = ()
    more: Callable[[], Iterable[Gauge]] = lambda: ()
    """What is dear to know, and counted only when a monitor asks."""
    turned_s: float = 0.0
    watched: Callable[[], Sequence[Watched]] = tuple
    """Of a process that watches the cluster."""
    turns: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)

    def turned(self, outcome: TickOutcome, at_s: float, events: Iterable[Logged]) -> None:
        self.turns[outcome] += 1
        self.events += counted(events)
        self.turned_s = at_s

    def collect(self) -> "Iterator[Metric]":
        """Called by prometheus_client at every scrape."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        families: dict[str, GaugeMetricFamily] = {}
        for name, labels, value, help_text in [*self.gauges, *self.more()]:
            family = families.setdefault(name, GaugeMetricFamily(name, help_text, labels=list(labels)))
            family.add_metric(list(labels.values()), value)
        yield from families.values()
        last = GaugeMetricFamily(
            "holdfast_last_turn_timestamp_seconds", "When the last turn ended.", labels=["cluster"]
        )
        last.add_metric([self.cluster], self.turned_s)
        yield last
        for name, help_text, value in self.watched():
            figure = GaugeMetricFamily(name, help_text, labels=["cluster"])
            figure.add_metric([self.cluster], value)
            yield figure
        for name, help_text, label, counts in (
            ("holdfast_turns", "Turns by what they came to.", "outcome", self.turns),
            ("holdfast_events", "Events by kind, since this process began.", "kind", self.events),
        ):
            family_of_counts = CounterMetricFamily(name, help_text, labels=["cluster", label])
            for each, count in sorted(dict(counts).items()):
                family_of_counts.add_metric([self.cluster, each], count)
            yield family_of_counts

    def registry(self) -> "CollectorRegistry":
        from prometheus_client import CollectorRegistry

        made = CollectorRegistry(auto_describe=False)
        made.register(self)
        return made
