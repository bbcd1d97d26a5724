"""A server that speaks the wire and decides nothing: the test says what it answers."""

import json
import ssl
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

Asked = tuple[str, str, dict[str, Any], dict[str, str]]


@dataclass
class Script:
    """What is answered from now on."""

    term_s: float = 2.0
    heartbeat_s: float = 0.5
    up: bool = True
    enabled: bool = True
    epoch: int = 0
    primary: bool = False
    goal: dict[str, Any] | None = None
    lease_s: float | None = None
    """None: the term, whenever it is primary and its watchdog counts."""
    refuses: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By the last word of the path: status and code."""
    token: str = "token-of-the-instance"


class WireServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, tls: tuple[Path, Path] | None = None) -> None:
        """`tls`: certificate and key."""
        super().__init__(("127.0.0.1", 0), Handler)
        self.scheme = "https" if tls else "http"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.script = Script()
        self.asked: list[Asked] = []
        self.changed = threading.Condition()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}"

    def tell(self, do: str, epoch: int, primary: str = "i-1", address: str = "127.0.0.1:1") -> None:
        """Give a goal; the long poll brings it at once."""
        with self.changed:
            version = (self.script.goal or {"version": 0})["version"] + 1
            self.script.epoch, self.script.primary = epoch, do in ("promote", "serve")
            who = {"instance_id": primary, "address": address}
            self.script.goal = {
                "version": version, "epoch": epoch, "do": do, "primary": who, "deadline_in_s": None,
            }  # fmt: skip
            self.changed.notify_all()

    def reports(self) -> list[dict[str, Any]]:
        return [body["report"] for _, path, body, _ in self.asked if path.endswith("/heartbeat")]

    def paths(self) -> list[str]:
        return [path.rpartition("/")[2] for _, path, _, _ in self.asked]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """An agent that was killed in the middle of a request is no error here."""


class Handler(BaseHTTPRequestHandler):
    server: WireServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        text = self.rfile.read(length)
        if len(text) < length:
            self.close_connection = True  # the agent was killed while it sent this
            return
        body = json.loads(text or b"{}")
        name, script = self.path.rpartition("/")[2], self.server.script
        self.server.asked.append(("POST", self.path, body, dict(self.headers)))
        if not script.up:
            self.close_connection = True
        elif name in script.refuses:
            status, code = script.refuses[name]
            self._reply(status, {"retry_after_s": 0.5}, code, f"the test refuses: {code}")
        elif name == "register":
            self._reply(200, self._registered(script, body))
        elif name == "heartbeat":
            self._reply(200, self._answered(script, body))
        else:
            self._reply(200, {"acknowledged": True, "emergency_replica_id": "r-1"})

    def do_GET(self) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        version, wait_s = int(asked["version"][0]), float(asked["wait"][0])
        until_s = time.monotonic() + wait_s
        with self.server.changed:
            while not self._is_newer(version) and time.monotonic() < until_s:
                self.server.changed.wait(0.5)
        if not self.server.script.up:
            self.close_connection = True
        else:
            self._reply(200, {"goal": self.server.script.goal})

    def _is_newer(self, version: int) -> bool:
        goal = self.server.script.goal
        return goal is not None and goal["version"] > version

    def _registered(self, script: Script, body: dict[str, Any]) -> dict[str, Any]:
        if not script.enabled:
            return {"config": {"enabled": False}}
        return {
            "token": script.token,
            "session": body["session"],
            "goal": script.goal,
            "lease_s": 0,
            "heartbeat_s": script.heartbeat_s,
            "term_s": script.term_s,
            "config": {"enabled": True},
        }

    def _answered(self, script: Script, body: dict[str, Any]) -> dict[str, Any]:
        granted = script.primary and body["epoch"] == script.epoch and body["report"]["watchdog_ok"]
        lease_s = script.term_s if script.lease_s is None else script.lease_s
        return {
            "epoch": script.epoch,
            "primary": script.primary,
            "lease_s": lease_s if granted else 0,
            "goal": script.goal,
            "message": "",
            "config": {"enabled": script.enabled},
        }

    def _reply(self, status: int, data: Any, code: str | None = None, error: str | None = None) -> None:
        said = {"status": "error" if error else "success", "data": data, "error": error, "code": code}
        text = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:
        """The tests read what was asked."""
