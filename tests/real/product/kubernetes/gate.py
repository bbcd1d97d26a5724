"""A door before a server that can be shut in the ways in which a network fails."""

import contextlib
import select
import socket
import threading
from collections.abc import Iterator

PIECE_BYTES = 1 << 16
GONE = b'"code":410'
THROTTLED = (
    b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)


class Gate:
    """Passes connections on to a port of this machine."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open: set[socket.socket] = set()
        self.stalled = threading.Event()
        """While set, nothing passes, and no connection ends."""
        self.throttled = threading.Event()
        """While set, every question is answered by 429."""
        self.gone = 0
        """So often did the server itself say that a version is too old to go on from."""
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def cut(self) -> None:
        for each in list(self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            if self.throttled.is_set():
                client.recv(PIECE_BYTES)
                client.sendall(THROTTLED)
                return
            with socket.create_connection(("127.0.0.1", self._port)) as server:
                self._open |= {client, server}
                try:
                    self._pass(client, server)
                finally:
                    self._open -= {client, server}

    def _pass(self, client: socket.socket, server: socket.socket) -> None:
        other = {client: server, server: client}
        while True:
            ready, _, _ = select.select([client, server], [], [], 1.0)
            for each in ready:
                piece = each.recv(PIECE_BYTES)
                self.gone += piece.count(GONE) if each is server else 0
                while self.stalled.is_set():
                    threading.Event().wait(0.02)
                if not piece:
                    return
                other[each].sendall(piece)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()


@contextlib.contextmanager
def gate_before(port: int) -> Iterator[Gate]:
    gate = Gate(port)
    threading.Thread(target=gate._accept, daemon=True).start()
    try:
        yield gate
    finally:
        gate.stalled.clear()
        gate._listener.shutdown(socket.SHUT_RDWR)
        gate._listener.close()
        gate.cut()
