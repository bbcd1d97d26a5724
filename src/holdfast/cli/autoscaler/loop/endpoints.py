"""What the daemon answers by HTTP: /metrics for Prometheus, /health and /ready for a kubelet."""

from contextlib import AbstractContextManager
from http import HTTPStatus

from holdfast.adapters.clock import mono_s
from holdfast.adapters.probes import METRICS, Answer, answering
from holdfast.cli.autoscaler.loop.condition import Condition
from holdfast.cli.autoscaler.loop.metrics import MetricsCollector


def served(
    collector: MetricsCollector, condition: Condition, address: str, port: int, every_s: float
) -> AbstractContextManager[None]:
    """While inside.  Raises OSError if the port cannot be had."""
    from prometheus_client import generate_latest

    registry = collector.registry()

    def answer(path: str) -> Answer:
        if path == "/metrics":
            return Answer(generate_latest(registry).decode(), METRICS)
        if path == "/health":
            return _judged(condition.unhealthy(mono_s(), every_s))
        if path == "/ready":
            return _judged("\n".join(condition.unready(mono_s(), every_s)))
        return Answer("try /metrics, /health or /ready\n", status=HTTPStatus.NOT_FOUND)

    return answering(answer, address, port)


def _judged(problem: str) -> Answer:
    status = HTTPStatus.SERVICE_UNAVAILABLE if problem else HTTPStatus.OK
    return Answer(f"{problem or 'ok'}\n", status=status)
