"""What the daemon answers by HTTP: /metrics for Prometheus, /health and /ready for a kubelet."""

import time
from contextlib import AbstractContextManager
from http import HTTPStatus
from typing import Final

from holdfast.adapters.probes import METRICS, Answer, answering
from holdfast.cli.autoscaler.loop.metrics import MetricsCollector

PATIENCE_S: Final = 120.0
"""So long, and three times the rest between two turns, may pass without the end of a turn."""


def unhealthy(now_s: float, last_s: float, every_s: float) -> str:
    """Why the process is to be started anew; empty: it turns.  `last_s`: the end of a turn, or its start."""
    silent_s = now_s - last_s
    if silent_s <= 3 * every_s + PATIENCE_S:
        return ""
    return f"no turn has ended for {silent_s:.0f} s"


def unready(outcome: str, *, failed: bool) -> str:
    """Why it cannot do its work; empty: it does.  `outcome`: of the last turn; empty if there was none."""
    if not outcome:
        return "no turn has ended yet"
    return f"the last turn was {outcome}" if failed else ""


def served(
    collector: MetricsCollector, address: str, port: int, every_s: float
) -> AbstractContextManager[None]:
    """While inside.  Raises OSError if the port cannot be had."""
    from prometheus_client import generate_latest

    registry, began_s = collector.registry(), time.time()

    def answer(path: str) -> Answer:
        if path == "/metrics":
            return Answer(generate_latest(registry).decode(), METRICS)
        if path == "/health":
            return _judged(unhealthy(time.time(), max(began_s, collector.turned_s), every_s))
        if path == "/ready":
            return _judged(unready(collector.outcome, failed=collector.failed))
        return Answer("try /metrics, /health or /ready\n", status=HTTPStatus.NOT_FOUND)

    return answering(answer, address, port)


def _judged(problem: str) -> Answer:
    status = HTTPStatus.SERVICE_UNAVAILABLE if problem else HTTPStatus.OK
    return Answer(f"{problem or 'ok'}\n", status=status)
