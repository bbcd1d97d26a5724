"""Answers a kubelet's probes and Prometheus by HTTP.  What is said there is known above."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

TEXT: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json"
METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
"""Prometheus' own text format."""
CLIENT_TIMEOUT_S: Final = 5.0
"""A client that sends or takes nothing for so long is let go: each one holds a thread."""


@dataclass(frozen=True, slots=True)
class Answer:
    body: str
    kind: str = TEXT
    status: HTTPStatus = HTTPStatus.OK


@contextmanager
def answering(answer: Callable[[str], Answer], address: str, port: int) -> Iterator[None]:
    """While inside, `answer` is asked with the path of each GET, in a thread of its own.

    Raises OSError if the port cannot be had.
    """
    server = ThreadingHTTPServer((address, port), _handler(answer))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(answer: Callable[[str], Answer]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = CLIENT_TIMEOUT_S

        def do_GET(self) -> None:
            found = answer(self.path.partition("?")[0])
            body = found.body.encode()
            self.send_response(found.status)
            self.send_header("Content-Type", found.kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """A probe every few seconds is no news."""

    return Handler
