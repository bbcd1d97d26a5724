"""Metrics out of a Lambda: CloudWatch's embedded metric format, as lines of its log.

Nothing can scrape a function that lives for a second.  A line that carries `_aws` becomes metrics
when CloudWatch takes the log in: no call, no wait, nothing to fail.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

NAMESPACE: Final = "Holdfast"
METRICS_A_LINE_MAX: Final = 100
DIMENSIONS_MAX: Final = 30
DIMENSION_CHARS_MAX: Final = 1_024

Gauge = tuple[str, Mapping[str, str], float, str]
"""Name, labels, value, and what it means."""


def lines(
    gauges: Iterable[Gauge],
    *,
    at_s: float,
    namespace: str = NAMESPACE,
    beside: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """One line for each set of labels, because a line has one value for each of its dimensions.

    `beside` stands in every line and becomes no dimension: dimensions cost money, each set of
    them is a metric of its own.  A value that is no number is left out: CloudWatch would drop
    the whole line.
    """
    for labels, metrics in _by_labels(gauges).items():
        names = list(metrics)
        for start in range(0, len(names), METRICS_A_LINE_MAX):
            some = {name: metrics[name] for name in names[start : start + METRICS_A_LINE_MAX]}
            yield json.dumps(_line(dict(labels), some, at_s, namespace, beside or {}), separators=(",", ":"))


def _by_labels(gauges: Iterable[Gauge]) -> dict[tuple[tuple[str, str], ...], dict[str, float]]:
    found: dict[tuple[tuple[str, str], ...], dict[str, float]] = {}
    for name, labels, value, _ in gauges:
        if math.isfinite(value):
            found.setdefault(_dimensions(labels), {})[name] = value
    return found


def _dimensions(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """An empty value would make CloudWatch refuse the line; so would too long a one."""
    kept = [(name, value[:DIMENSION_CHARS_MAX]) for name, value in sorted(labels.items()) if value]
    return tuple(kept[:DIMENSIONS_MAX])


def _line(
    labels: Mapping[str, str],
    metrics: Mapping[str, float],
    at_s: float,
    namespace: str,
    beside: Mapping[str, str],
) -> dict[str, Any]:
    directive = {
        "Namespace": namespace,
        "Dimensions": [list(labels)],
        "Metrics": [{"Name": name} for name in metrics],
    }
    about = {"Timestamp": int(at_s * 1_000), "CloudWatchMetrics": [directive]}
    return {"_aws": about, **beside, **labels, **metrics}
