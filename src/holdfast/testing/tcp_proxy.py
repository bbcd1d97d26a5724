"""The fault proxy for what speaks no HTTP: databases, where a client asks and the server answers.

An exchange is whatever the client has sent since the server's last word.  The script sees its bytes as text,
which is enough to tell a COMMIT from the rest:

    TcpFaultProxy(host, port, fate=lambda n, sent: RESET_AFTER if "COMMIT" in sent else PASS)
"""

import contextlib
import select
import socket

from holdfast.testing.http import Broken
from holdfast.testing.proxy import CONNECT_TIMEOUT_S, RESET_ON_CLOSE, Exchange, Fate, FaultProxy, Kind

CHUNK = 1 << 20
SHOWN = 60


class TcpFaultProxy(FaultProxy):
    """A connection to the server for each of a client's; both end together."""

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(Broken, OSError), self._sockets.kept(client):
            upstream = socket.create_connection(self._upstream_address, timeout=CONNECT_TIMEOUT_S)
            upstream.settimeout(None)
            with self._sockets.kept(upstream):
                try:
                    while self._forward(client, upstream):
                        pass
                except OSError:
                    # A chosen reset, or a peer that broke off: the client sees a broken connection.
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)

    def _forward(self, client: socket.socket, upstream: socket.socket) -> bool:
        """Whatever comes next, from either side; whether the connection lives on."""
        readable, _, _ = select.select([client, upstream], [], [])
        if upstream in readable:
            answer = upstream.recv(CHUNK)
            client.sendall(answer)
            return bool(answer)
        sent = client.recv(CHUNK)
        return bool(sent) and self._meet(self._numbered(sent), client, upstream, sent)

    def _meet(self, fate: Fate, client: socket.socket, upstream: socket.socket, sent: bytes) -> bool:
        match fate.kind:
            case Kind.PASS | Kind.LATENCY:
                if self._ended.wait(fate.delay_s):
                    raise Broken("closed")
                upstream.sendall(sent)
                return True
            case Kind.RESET_BEFORE:
                raise Broken(fate)
            case Kind.RESET_AFTER | Kind.HALF_ANSWER:
                upstream.sendall(sent)
                answer = upstream.recv(CHUNK)
                if fate.kind is Kind.HALF_ANSWER:
                    client.sendall(answer[: len(answer) // 2])
                raise Broken(fate)
            case Kind.BLACK_HOLE:
                if fate.delivered:
                    upstream.sendall(sent)
                    upstream.recv(CHUNK)
                while client.recv(CHUNK):
                    pass
                return False
            case Kind.REFUSED:
                raise ValueError("a refusal is HTTP's, and this proxy knows only bytes")

    def _numbered(self, sent: bytes) -> Fate:
        text = sent.decode("latin-1")
        with self._turn:
            n = len(self.log)
            try:
                fate = self._choose(n, text)
            except Exception as error:
                self._failure = self._failure or error
                raise Broken("the fate function failed") from error
            self.log.append(Exchange(n, text[:SHOWN], fate))
            return fate
