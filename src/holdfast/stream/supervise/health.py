"""`/health`: this process is alive.  `/ready`: the cap is agreed on, and the command runs.  `/metrics` too.

The first two answer 503 from the moment in which the process was told to end.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from holdfast.kernel import Invalid

JSON: Final = "application/json"
METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
LINGER_S: Final = 2.0
"""So long at least the answer is 503 before the process is gone."""


@dataclass
class Health:
    ready: bool = False
    stopping: bool = False
    metrics: Callable[[], str] = lambda: ""
    """What is known by now, in the text format of Prometheus."""

    def answer(self, path: str) -> tuple[int, str, str]:
        """Status, kind and body for a path."""
        if path == "/metrics":
            return 200, METRICS, self.metrics()
        if path not in ("/health", "/ready"):
            return 404, JSON, json.dumps({"error": f"there is no {path}: /health, /ready or /metrics"})
        fine = not self.stopping and (path == "/health" or self.ready)
        state = {"ready": self.ready, "stopping": self.stopping}
        return 200 if fine else 503, JSON, json.dumps(state)


@contextmanager
def served(health: Health, port: int, address: str = "0.0.0.0") -> Iterator[None]:
    """Answer until the end.  Port 0: not at all.  Raises Invalid if the port is taken."""
    if not port:
        yield
        return
    try:
        server = ThreadingHTTPServer((address, port), _handler(health))
    except OSError as error:
        raise Invalid(
            f"health_port {port}: {error.strerror}: choose another (HEALTH_PORT), or 0 for none"
        ) from error
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(health: Health) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 5.0

        def do_GET(self) -> None:
            status, kind, text = health.answer(self.path.partition("?")[0])
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """A probe every few seconds is no news."""

    return Handler
