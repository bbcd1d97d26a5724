"""What a k3s server shows to every client: its certificate authority, over TLS."""

import hashlib
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tools.parts.ports import free_port


class Supervisor:
    """Answers on one port, may be down for a while, and remembers what it was sent."""

    def __init__(self, folder: Path) -> None:
        self._certificate, self._key = folder / "ca.pem", folder / "key.pem"
        _make_certificate(self._certificate, self._key)
        self.authority = self._certificate.read_bytes()
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.seen: list[tuple[str, str, str | None]] = []
        """Method, path and Authorization of every request."""
        self._server: ThreadingHTTPServer | None = None

    @property
    def ca_hash(self) -> str:
        return hashlib.sha256(self.authority).hexdigest()

    def up(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._certificate, self._key)
        self._server = _Server(("127.0.0.1", self.port), _handler(self))
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def down(self) -> None:
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


class _Server(ThreadingHTTPServer):
    daemon_threads = True


def _handler(supervisor: Supervisor) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            supervisor.seen.append((self.command, self.path, self.headers["Authorization"]))
            self.send_response(200 if self.path == "/cacerts" else 404)
            self.end_headers()
            if self.path == "/cacerts":
                self.wfile.write(supervisor.authority)

        do_POST = do_PUT = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None: ...

    return Handler


def _make_certificate(certificate: Path, key: Path) -> None:
    subject = ["-subj", "/CN=k3s-server-ca", "-addext", "subjectAltName=IP:127.0.0.1"]
    argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    out = ["-days", "2", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*argv, *subject, *out], check=True, capture_output=True)
