"""An operator's webhook: takes what is posted, and answers as it is told."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.status, self.body, self.hangs_s = 200, b"", 0.0
        self.drips_s = 0.0
        """Between two bytes of what it answers: no limit of a socket is ever reached."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/secret-path"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append(({k.lower(): v for k, v in self.headers.items()}, body))
        time.sleep(self.server.hangs_s)
        if self.server.drips_s:
            self._drip()
            return
        self.send_response(self.server.status)
        if 300 <= self.server.status < 400:
            self.send_header("location", "/elsewhere")
        self.send_header("content-length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def _drip(self) -> None:
        self.close_connection = True
        for byte in b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n":
            try:
                self.wfile.write(bytes([byte]))
            except OSError:
                return
            time.sleep(self.server.drips_s)

    def log_message(self, *said: Any) -> None:
        pass


@contextmanager
def receiving() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
