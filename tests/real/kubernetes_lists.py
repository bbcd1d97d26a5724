"""The two lists of a Kubernetes API, served from memory to clients with the token."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "let-me-in"


@dataclass
class Lists:
    """Nodes and pods by name; `out_of_order` makes the API answer 500."""

    server: str = ""
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    out_of_order: bool = False

    def add_node(self, name: str, *, cpus: int = 4, ready: str = "True") -> None:
        amounts = {"cpu": str(cpus), "memory": "8Gi", "pods": "110"}
        self.nodes[name] = {
            "metadata": {"name": name},
            "spec": {"providerID": f"aws:///us-east-1a/{name}"},
            "status": {
                "capacity": amounts,
                "allocatable": {**amounts, "memory": "7Gi"},
                "addresses": [{"type": "InternalIP", "address": f"10.0.0.{len(self.nodes) + 1}"}],
                "conditions": [{"type": "Ready", "status": ready}],
            },
        }

    def add_pod(
        self, name: str, node: str | None, *, cpu: str = "1", phase: str = "Running", usage: str | None = None
    ) -> None:
        self.pods[name] = {
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": f"uid-{name}",
                "annotations": {"holdfast.test/cpu-usage": usage} if usage else {},
                "ownerReferences": [{"kind": "ReplicaSet", "name": "web", "controller": True}],
            },
            "spec": {
                **({"nodeName": node} if node else {}),
                "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}],
            },
            "status": {"phase": phase},
        }


@contextmanager
def serving() -> Iterator[Lists]:
    lists = Lists()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = {"/api/v1/nodes": lists.nodes, "/api/v1/pods": lists.pods}.get(self.path)
            if self.headers["Authorization"] != f"Bearer {TOKEN}":
                self._answer(401, {})
            elif lists.out_of_order:
                self._answer(500, {})
            elif found is None:
                self._answer(404, {})
            else:
                self._answer(200, {"items": list(found.values()) or None})

        def _answer(self, status: int, body: dict[str, Any]) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        lists.server = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield lists
        finally:
            server.shutdown()
            thread.join()
