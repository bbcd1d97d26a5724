"""A small real HTTP server that remembers what reached it."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic, sleep

BIG_BODY = bytes(range(256)) * 4096


class CountingServer(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, str, bytes]] = []  # method, path, body; noted before the answer
        self.answered = 0
        self.go_on = threading.Event()

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: CountingServer

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = self._chunks()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append((self.command, self.path, body))
        self._answer(body)
        self.server.answered += 1

    do_GET = do_HEAD = do_PUT = do_POST  # noqa: N815

    def _answer(self, body: bytes) -> None:
        match self.path:
            case "/chunked":
                self._head(200, {"Transfer-Encoding": "chunked"})
                for piece in (b"one", b"two" * 1000):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.write(b"0\r\nX-Trailer: t\r\n\r\n")
            case "/until-closed":
                self._head(200, {})
                self.close_connection = True
                self.wfile.write(b"as much as there is")
            case "/drip":
                self._head(200, {"Transfer-Encoding": "chunked"})
                self.wfile.write(b"5\r\nfirst\r\n")
                self.wfile.flush()
                self.server.go_on.wait(120)
                self.wfile.write(b"0\r\n\r\n")
            case "/empty":
                self._head(204, {})
            case "/big":
                self._whole(BIG_BODY)
            case "/hang-up":
                self.close_connection = True
            case _ if self.command == "PUT":
                self._whole(b"")
            case _:
                table = json.dumps({"TableNames": ["one"]}).encode()
                self._whole(table if "X-Amz-Target" in self.headers else body or b"hello")

    def _whole(self, body: bytes) -> None:
        self._head(200, {"Content-Length": str(len(body)), "Content-Type": "application/x-amz-json-1.0"})
        if self.command != "HEAD":
            self.wfile.write(body)

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the requests are remembered."""


@contextmanager
def counting_server() -> Iterator[CountingServer]:
    server = CountingServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.go_on.set()
        server.shutdown()
        thread.join()
        server.server_close()


def until(true: Callable[[], bool], what: str, *, timeout_s: float = 120.0) -> None:
    """Return once it is true; fail with what was awaited."""
    deadline_s = monotonic() + timeout_s
    while not true():
        assert monotonic() < deadline_s, f"never: {what}"
        sleep(0.005)
