"""A small API server: lists, watches with a history, and troubles on demand."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from holdfast.adapters.kubernetes.api import NAMESPACES
from holdfast.adapters.kubernetes.auth.access import Access
from holdfast.adapters.kubernetes.client import Client
from holdfast.adapters.kubernetes.watch.course import Pace
from holdfast.adapters.kubernetes.watch.watches import KINDS

SECOND = 0.2
"""So long is a second of this server: a watch of one lasts this long."""
PACE = Pace(watch_s=1, ends_s=0.12, silence_max_s=0.5, fed_s=0.8, lag_s=0.05)


@dataclass
class WatchedServer:
    offers_streams: bool = True
    version: int = 100
    objects: dict[str, dict[str, Any]] = field(default_factory=lambda: {kind.path: {} for kind in KINDS})
    history: list[tuple[int, str, str, Any]] = field(default_factory=list)
    """Version, kind, type of event, object."""
    compacted: int = 0
    asked: list[str] = field(default_factory=list)
    stalled: threading.Event = field(default_factory=threading.Event)
    """While set, nothing is sent, and no connection ends."""
    throttles: int = 0
    """So many questions are answered by 429."""
    url: str = ""
    moved: threading.Condition = field(default_factory=threading.Condition)
    sockets: list[socket.socket] = field(default_factory=list)

    def put(self, kind: str, name: str, **more: Any) -> None:
        with self.moved:
            self.version += 1
            is_new = name not in self.objects[kind]
            meta = {"name": name, "uid": f"uid-{name}", "resourceVersion": str(self.version)}
            thing = {**more, "metadata": {**meta, **more.get("metadata", {})}}
            self.objects[kind][name] = thing
            self.history.append((self.version, kind, "ADDED" if is_new else "MODIFIED", thing))
            self.moved.notify_all()

    def delete(self, kind: str, name: str) -> None:
        with self.moved:
            self.version += 1
            thing = self.objects[kind].pop(name)
            thing = {**thing, "metadata": {**thing["metadata"], "resourceVersion": str(self.version)}}
            self.history.append((self.version, kind, "DELETED", thing))
            self.moved.notify_all()

    def compact(self) -> None:
        """Old versions are gone, and the watches with them."""
        with self.moved:
            self.compacted, self.history = self.version, []
        self.cut()

    def cut(self) -> None:
        for each in self.sockets[:]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def client(self) -> Client:
        return Client(lambda: Access(self.url, "a test", None, lambda: "token"), read_timeout_s=5.0)

    def since(self, kind: str, version: int) -> list[tuple[int, str, Any]]:
        return [(at, event, thing) for at, of, event, thing in self.history if of == kind and at > version]


def _handler(server: WatchedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            server.sockets.append(self.connection)

        def finish(self) -> None:
            server.sockets.remove(self.connection)
            with contextlib.suppress(OSError):
                super().finish()

        def do_GET(self) -> None:
            at = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(at.query).items()}
            server.asked.append(self.path)
            with contextlib.suppress(OSError):
                self._answer(at.path, query)

        def _answer(self, kind: str, query: dict[str, str]) -> None:
            while server.stalled.is_set():
                time.sleep(0.01)
            if server.throttles:
                server.throttles -= 1
                return self._say(429, {"message": "too many"}, {"Retry-After": "0"})
            if kind == f"{NAMESPACES}/kube-system":
                return self._say(200, server.objects[NAMESPACES]["kube-system"])
            if "watch" not in query:
                with server.moved:
                    found = {"metadata": {"resourceVersion": str(server.version)}}
                    return self._say(200, {**found, "items": list(server.objects[kind].values())})
            initial = "sendInitialEvents" in query
            if initial and not server.offers_streams:
                return self._say(422, {"message": "sendInitialEvents is forbidden"})
            version = int(query.get("resourceVersion", "0"))
            if not initial and version < server.compacted:
                return self._say(410, {"message": "too old resource version"})
            self._watch(kind, version, initial, int(query["timeoutSeconds"]) * SECOND)

        def _watch(self, kind: str, version: int, initial: bool, lasts_s: float) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            until_s = time.monotonic() + lasts_s
            if initial:
                with server.moved:
                    there, version = list(server.objects[kind].values()), server.version
                for thing in there:
                    self._chunk("ADDED", thing)
                self._bookmark(version, {"k8s.io/initial-events-end": "true"})
            while time.monotonic() < until_s:
                with server.moved:
                    news = server.since(kind, version)
                    if not news:
                        server.moved.wait(0.02)
                for at, event, thing in news:
                    version = at
                    self._chunk(event, thing)
            self._bookmark(max(version, server.compacted), {})
            self._raw(b"")

        def _bookmark(self, version: int, annotations: dict[str, str]) -> None:
            meta = {"resourceVersion": str(version), "annotations": annotations}
            self._chunk("BOOKMARK", {"metadata": meta})

        def _chunk(self, event: str, thing: Any) -> None:
            self._raw(json.dumps({"type": event, "object": thing}).encode() + b"\n")

        def _raw(self, piece: bytes) -> None:
            while server.stalled.is_set():
                time.sleep(0.01)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()

        def _say(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
            sent = json.dumps(body).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(sent)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: object) -> None: ...

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A connection that was cut."""


@contextlib.contextmanager
def serving(server: WatchedServer) -> Iterator[WatchedServer]:
    server.put(NAMESPACES, "kube-system")
    with _Server(("127.0.0.1", 0), _handler(server)) as http:
        server.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.stalled.clear()
            server.cut()
            http.shutdown()
            thread.join()
