"""What load balancers ask on this machine: /primary, /replica and /health, answered from this moment."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from holdfast.agent.options import Problem

Asked = Callable[[str], tuple[int, dict[str, Any]]]


class Endpoint(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, listen: tuple[str, int], asked: Asked) -> None:
        self.asked = asked
        try:
            super().__init__(listen, Handler)
        except OSError as error:
            where = f"{listen[0]}:{listen[1]}"
            raise Problem(f"--listen {where}: {error.strerror}: choose another, or off") from None

    def serve(self) -> None:
        threading.Thread(target=self.serve_forever, daemon=True, name="endpoint").start()


class Handler(BaseHTTPRequestHandler):
    server: Endpoint
    server_version, sys_version = "holdfast-agent", ""
    timeout = 10

    def do_GET(self) -> None:
        status, said = self.server.asked(self.path.partition("?")[0])
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """A load balancer asks every few seconds; that is no news."""
