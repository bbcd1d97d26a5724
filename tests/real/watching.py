"""A Prometheus that watches one cluster, and how to wait for its answers."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.real.presence import present
from tests.real.traces import wait_until
from tools.parts.catalog.prometheus import PART, Prometheus, Target
from tools.parts.exporter.start import StartedExporter

INTERVAL_S = 0.5
WINDOW_S = 5
CPU = f'1 - avg(rate(node_cpu_seconds_total{{mode="idle"}}[{WINDOW_S}s]))'
CPU_BY_NODE = f'1 - avg by (node) (rate(node_cpu_seconds_total{{mode="idle"}}[{WINDOW_S}s]))'
PENDING = 'sum(kube_pod_status_phase{phase="Pending"})'


@contextmanager
def watching(exporter: StartedExporter) -> Iterator[Prometheus]:
    targets = [
        Target("node-exporter", exporter.address, "/node"),
        Target("kube-state-metrics", exporter.address, "/kube"),
    ]
    started = present(PART).start(targets, interval_s=INTERVAL_S)
    try:
        yield started
    finally:
        started.stop()


def wait_for_a_full_window(prometheus: Prometheus) -> None:
    """A rate over a window that is only half filled is an extrapolation."""
    samples = f"min(count_over_time(node_cpu_seconds_total[{WINDOW_S}s]))"
    wait_for(prometheus, samples, at_least=WINDOW_S / INTERVAL_S - 1)


def wait_for(
    prometheus: Prometheus, promql: str, *, at_least: float = -float("inf"), at_most: float = float("inf")
) -> None:
    """Return once the answer is a number between the two."""

    def holds() -> bool:
        found = prometheus.value(promql)
        return found is not None and at_least <= found <= at_most

    wait_until(holds, f"{at_least} <= {promql} <= {at_most}")
