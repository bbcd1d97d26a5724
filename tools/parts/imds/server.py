"""The metadata service on HTTP."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tools.parts.imds.book import TTL_S_MAX, Book
from tools.parts.imds.metadata import Metadata

TTL = "X-aws-ec2-metadata-token-ttl-seconds"
TOKEN = "X-aws-ec2-metadata-token"


class ImdsServer(ThreadingHTTPServer):
    """Plays every instance of a book, or, with `only`, a single one."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, book: Book, port: int = 0, only: str | None = None) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.book, self.only = book, only

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def serve_in_background(self) -> None:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    server: ImdsServer
    protocol_version = "HTTP/1.1"
    server_version = "EC2ws"
    sys_version = ""

    def do_PUT(self) -> None:
        metadata, path = self._addressed()
        if metadata is None:
            return self._hang_up()
        if not metadata.enabled or "X-Forwarded-For" in self.headers:
            return self._reply(403)
        if path != "/latest/api/token":
            return self._reply(403)
        ttl_s = self.headers.get(TTL, "")
        if not ttl_s.isdigit() or not 1 <= int(ttl_s) <= TTL_S_MAX:
            return self._reply(400)
        token = self.server.book.issue_token(metadata.instance_id, int(ttl_s))
        return self._reply(200, token.encode(), {TTL: ttl_s})

    def do_GET(self) -> None:
        metadata, path = self._addressed()
        if metadata is None:
            return self._hang_up()
        if not metadata.enabled:
            return self._reply(403)
        token = self.headers.get(TOKEN)
        if (metadata.token_required or token is not None) and not self._admits(metadata, token):
            return self._reply(401)
        if not path.startswith("/latest/"):
            return self._reply(404)
        found = self.server.book.read(metadata.instance_id, path.removeprefix("/latest/"))
        return self._reply(404) if found is None else self._reply(200, found)

    def _admits(self, metadata: Metadata, token: str | None) -> bool:
        return self.server.book.accepts(metadata.instance_id, token)

    def _addressed(self) -> tuple[Metadata | None, str]:
        """The instance that is spoken to, and the path inside its service."""
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        if self.server.only:
            return self.server.book.get(self.server.only), self.path
        instance_id, slash, rest = self.path.lstrip("/").partition("/")
        return self.server.book.get(instance_id), slash + rest

    def _hang_up(self) -> None:
        """An instance that is gone has nothing that could answer: not even with an error."""
        self.close_connection = True

    def _reply(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """The tests read answers, not access lines."""
