"""Serves `/node` as the node-exporters and `/kube` as kube-state-metrics, on loopback.

If the Kubernetes API cannot be listed the scrape fails: no answer must not look like
an empty cluster.  If it only takes long, the scrape is answered in time with the look
before, as kube-state-metrics answers from its memory.
"""

import argparse
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tools.parts.exporter.cpu import CpuCounters, Spent, loads_of
from tools.parts.exporter.kube_samples import kube_samples
from tools.parts.exporter.kubernetes_api import KubernetesApi, Object
from tools.parts.exporter.node_samples import node_samples
from tools.parts.exporter.text import rendered

SCRAPE_TIMEOUT = "X-Prometheus-Scrape-Timeout-Seconds"
PATIENCE = 0.5
"""Of the time that Prometheus waits, so much may go by before the look before is good enough."""
OLD_S = 20.0


@dataclass(frozen=True)
class Look:
    nodes: list[Object]
    pods: list[Object]
    spent: dict[str, Spent]
    at_s: float


class Exporter:
    def __init__(self, api: KubernetesApi) -> None:
        self._api = api
        self._counters = CpuCounters()
        self._lock = threading.Lock()
        # One thread: looks must reach the counters in the order in which they were taken.
        self._looks = ThreadPoolExecutor(1)
        self._under_way: Future[Look] | None = None
        self._last: Look | None = None

    def page(self, path: str, timeout_s: float | None) -> str | None:
        """What is to be scraped there; None if nothing is."""
        match path:
            case "/node":
                look = self._look(timeout_s)
                return rendered(node_samples(look.nodes, look.spent))
            case "/kube":
                look = self._look(timeout_s)
                return rendered(kube_samples(look.nodes, look.pods))
            case "/health":
                return "ok\n"
            case _:
                return None

    def _look(self, timeout_s: float | None) -> Look:
        with self._lock:
            if self._under_way is None or self._under_way.done():
                self._under_way = self._looks.submit(self._read)
            mine, last = self._under_way, self._last
        if timeout_s is not None and last is not None and time.monotonic() - last.at_s < OLD_S:
            wait_for([mine], PATIENCE * timeout_s)
            if not mine.done():
                return last
        return mine.result()

    def _read(self) -> Look:
        nodes, pods, now_s = self._api.nodes(), self._api.pods(), time.monotonic()
        self._last = Look(nodes, pods, dict(self._counters.advance(loads_of(nodes, pods), now_s)), now_s)
        return self._last


def handler_for(exporter: Exporter) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                told = self.headers.get(SCRAPE_TIMEOUT)
                page = exporter.page(self.path, float(told) if told else None)
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
