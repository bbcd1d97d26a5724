"""Scripting the metadata service from a test: JSON in, JSON out, under `/_control/`."""

import base64
import json
import time
from dataclasses import fields
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tools.parts.imds.book import Book
from tools.parts.imds.metadata import Metadata
from tools.parts.imds.server import ImdsServer

KNOWN = {field.name for field in fields(Metadata)}


class Unknown(Exception):
    """The request names an instance or a field that does not exist."""


def stamp(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Script:
    """The verbs a test may use."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self._own: dict[str, ImdsServer] = {}

    def perform(self, verb: str, wanted: dict[str, Any]) -> dict[str, Any]:
        if verb == "put":
            return self._put(wanted)
        if verb not in ("interrupt", "rebalance", "remove", "listen"):
            raise Unknown(f"no such verb: {verb}; there are put, interrupt, rebalance, remove, listen")
        instance_id = str(wanted["instance_id"])
        if self.book.get(instance_id) is None:
            raise Unknown(f"no such instance: {instance_id}; put it first")
        match verb:
            case "interrupt":
                at = stamp(time.time() + float(wanted.get("in_s", 120)))
                self.book.interrupt(instance_id, wanted.get("action", "terminate"), at)
                return {"time": at}
            case "rebalance":
                at = stamp(time.time())
                self.book.rebalance(instance_id, at)
                return {"time": at}
            case "remove":
                self.book.remove(instance_id)
                return {}
            case _:
                return {"endpoint": self._listen(instance_id).url}

    def _put(self, wanted: dict[str, Any]) -> dict[str, Any]:
        unknown = sorted(set(wanted) - KNOWN)
        if unknown:
            raise Unknown(f"no such field: {', '.join(unknown)}; there are {', '.join(sorted(KNOWN))}")
        user_data = wanted.get("user_data")
        decoded = base64.b64decode(user_data) if user_data is not None else None
        self.book.put(Metadata(**{**wanted, "user_data": decoded}))
        return {}

    def _listen(self, instance_id: str) -> ImdsServer:
        """A port that plays this instance alone."""
        if instance_id not in self._own:
            self._own[instance_id] = ImdsServer(self.book, only=instance_id)
            self._own[instance_id].serve_in_background()
        return self._own[instance_id]


class ControlServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: Script, port: int) -> None:
        super().__init__(("127.0.0.1", port), ControlHandler)
        self.script = script


class ControlHandler(BaseHTTPRequestHandler):
    server: ControlServer

    def do_GET(self) -> None:
        self._reply(200, {"ready": True})

    def do_POST(self) -> None:
        wanted = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        try:
            self._reply(200, self.server.script.perform(self.path.removeprefix("/_control/"), wanted))
        except (Unknown, KeyError, TypeError, ValueError) as error:
            self._reply(400, {"error": str(error)})

    def _reply(self, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """The tests read answers, not access lines."""
