"""`/health`: this process is alive.  `/ready`: the cap is agreed on, and the command runs.  `/metrics` too.

The first two answer 503 from the moment in which the process was told to end.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from holdfast.adapters.probes import JSON, METRICS, Answer, answering
from holdfast.kernel import Invalid

LINGER_S: Final = 2.0
"""So long at least the answer is 503 before the process is gone."""


@dataclass
class Health:
    ready: bool = False
    stopping: bool = False
    metrics: Callable[[], str] = lambda: ""
    """What is known by now, in the text format of Prometheus."""

    def answer(self, path: str) -> Answer:
        if path == "/metrics":
            return Answer(self.metrics(), METRICS)
        if path not in ("/health", "/ready"):
            error = {"error": f"there is no {path}: /health, /ready or /metrics"}
            return Answer(json.dumps(error), JSON, HTTPStatus.NOT_FOUND)
        fine = not self.stopping and (path == "/health" or self.ready)
        state = {"ready": self.ready, "stopping": self.stopping}
        return Answer(json.dumps(state), JSON, HTTPStatus.OK if fine else HTTPStatus.SERVICE_UNAVAILABLE)


@contextmanager
def served(health: Health, port: int, address: str = "0.0.0.0") -> Iterator[None]:
    """Answer until the end.  Port 0: not at all.  Raises Invalid if the port is taken."""
    with ExitStack() as serving:
        try:
            if port:
                serving.enter_context(answering(health.answer, address, port))
        except OSError as error:
            raise Invalid(
                f"health_port {port}: {error.strerror}: choose another (HEALTH_PORT), or 0 for none"
            ) from error
        yield
