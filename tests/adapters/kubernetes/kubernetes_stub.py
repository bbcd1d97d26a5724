"""An API server of a few scripted answers on loopback, for what a real one says too seldom."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec

from holdfast.adapters.kubernetes import KubernetesApi
from holdfast.adapters.kubernetes.auth.access import Access
from holdfast.adapters.kubernetes.client import Client

TOKEN = "sesame-open-3f9a"
"""What no message may ever show."""


@dataclass(frozen=True)
class Said:
    status: int = 200
    body: Any = field(default_factory=dict)
    """JSON, or bytes as they are."""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Stub:
    """Answers in order; the last one for ever."""

    says: list[Said]
    url: str = ""
    asked: list[str] = field(default_factory=list)
    """Method and target of each request."""
    shown: list[str] = field(default_factory=list)
    """The token of each request."""
    bodies: list[bytes] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    """What each request says that its body is."""

    def access(self, token: str = TOKEN) -> Access:
        return Access(self.url, "a test", None, lambda: token)

    def api(self) -> KubernetesApi:
        return KubernetesApi(Client(self.access))


@contextmanager
def saying(*says: Said) -> Iterator[Stub]:
    stub = Stub(list(says))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            stub.asked.append(f"{self.command} {self.path}")
            stub.shown.append(self.headers.get("Authorization", "").removeprefix("Bearer "))
            stub.kinds.append(self.headers.get("Content-Type", ""))
            stub.bodies.append(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            said = stub.says.pop(0) if len(stub.says) > 1 else stub.says[0]
            body = said.body if isinstance(said.body, bytes) else msgspec.json.encode(said.body)
            self.send_response(said.status)
            for name, value in {"Content-Length": str(len(body)), **said.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("do_"):
                return self.handle_any
            raise AttributeError(name)

        def log_message(self, *_: object) -> None: ...

    class Server(ThreadingHTTPServer):
        daemon_threads = True  # a kept connection ends with its client, not with the server

    with Server(("127.0.0.1", 0), Handler) as server:
        stub.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield stub
        finally:
            server.shutdown()
            thread.join()
