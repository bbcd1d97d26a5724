"""Serves `/node` as the node-exporters and `/kube` as kube-state-metrics, on loopback.

If the Kubernetes API cannot be listed the scrape fails: no answer must not look like
an empty cluster.
"""

import argparse
import threading
import time
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tools.parts.exporter.cpu import CpuCounters, loads_of
from tools.parts.exporter.kube_samples import kube_samples
from tools.parts.exporter.kubernetes_api import KubernetesApi
from tools.parts.exporter.node_samples import node_samples
from tools.parts.exporter.text import rendered


class Exporter:
    def __init__(self, api: KubernetesApi) -> None:
        self._api = api
        self._counters = CpuCounters()
        self._lock = threading.Lock()

    def page(self, path: str) -> str | None:
        """What is to be scraped there; None if nothing is."""
        match path:
            case "/node":
                return self._node_page()
            case "/kube":
                return rendered(kube_samples(self._api.nodes(), self._api.pods()))
            case "/health":
                return "ok\n"
            case _:
                return None

    def _node_page(self) -> str:
        # Looks must reach the counters in the order in which they were taken.
        with self._lock:
            nodes, pods = self._api.nodes(), self._api.pods()
            spent = self._counters.advance(loads_of(nodes, pods), time.monotonic())
            return rendered(node_samples(nodes, spent))


def handler_for(exporter: Exporter) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                page = exporter.page(self.path)
            except (OSError, ValueError, HTTPException) as error:
                self._answer(503, f"the cluster cannot be told: {error}\n")
                return
            if page is None:
                self._answer(404, "there are /node, /kube and /health\n")
            else:
                self._answer(200, page)

        def _answer(self, status: int, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """One line a scrape is noise."""

    return Handler


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools.parts.exporter", description=__doc__)
    parser.add_argument("--server", required=True, help="URL of the Kubernetes API")
    parser.add_argument("--ca-file", help="certificate of its authority")
    parser.add_argument("--token-file", type=Path, help="file with a bearer token")
    parser.add_argument("--port", type=int, required=True)
    asked = parser.parse_args()
    token = asked.token_file.read_text().strip() if asked.token_file else None
    exporter = Exporter(KubernetesApi(asked.server, asked.ca_file, token))
    ThreadingHTTPServer(("127.0.0.1", asked.port), handler_for(exporter)).serve_forever()


if __name__ == "__main__":
    main()
