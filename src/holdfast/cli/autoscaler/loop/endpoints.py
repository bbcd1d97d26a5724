"""What the daemon answers by HTTP: /metrics for Prometheus, /health and /ready for a kubelet."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from holdfast.cli.autoscaler.loop.metrics import MetricsCollector

PATIENCE_S: Final = 120.0
"""So long, and three times the rest between two turns, may pass without the end of a turn."""


FOR_PROMETHEUS: Final = "text/plain; version=0.0.4; charset=utf-8"


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


@contextmanager
def served(collector: MetricsCollector, address: str, port: int, every_s: float) -> Iterator[None]:
    """While inside.  Raises OSError if the port cannot be had."""
    from prometheus_client import generate_latest

    registry, began_s = collector.registry(), time.time()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/metrics":
                self._say(
                    HTTPStatus.OK, generate_latest(registry), "text/plain; version=0.0.4; charset=utf-8"
                )
            elif path == "/health":
                self._judge(unhealthy(time.time(), max(began_s, collector.turned_s), every_s))
            elif path == "/ready":
                self._judge(unready(collector.outcome, failed=collector.failed))
            else:
                self._say(HTTPStatus.NOT_FOUND, b"try /metrics, /health or /ready\n")

        def _judge(self, problem: str) -> None:
            status = HTTPStatus.SERVICE_UNAVAILABLE if problem else HTTPStatus.OK
            self._say(status, f"{problem or 'ok'}\n".encode())

        def _say(self, status: HTTPStatus, body: bytes, kind: str = "text/plain; charset=utf-8") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """A probe every few seconds is no news."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    server = Server((address, port), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
