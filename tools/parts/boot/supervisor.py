"""`python -m tools.parts.boot.supervisor`: what a k3s server shows to every client, its authority over TLS.

A machine compares it before it sends a token anywhere.  A bare kube-apiserver does not serve it.
"""

import argparse
import ssl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def handler_for(authority: bytes) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/cacerts"
            self.send_response(200 if found else 404)
            self.end_headers()
            if found:
                self.wfile.write(authority)

        def log_message(self, *_: object) -> None:
            """One line a machine is noise."""

    return Handler


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools.parts.boot.supervisor", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--certificate", type=Path, required=True, help="its own, with the authority behind")
    parser.add_argument("--key", type=Path, required=True)
    asked = parser.parse_args()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(asked.certificate, asked.key)
    server = ThreadingHTTPServer(("127.0.0.1", asked.port), handler_for(asked.certificate.read_bytes()))
    # The handshake is left to the thread that answers: a client that stalls holds up no other.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.serve_forever()


if __name__ == "__main__":
    main()
