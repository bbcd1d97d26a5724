"""Enough HTTP/1.1 to know where a request and its answer end."""

import socket
from collections.abc import Iterator

HEAD_BYTES_MAX = 1 << 20
PIECE_BYTES = 1 << 16


class Broken(OSError):
    """This connection ends here, with a reset."""


class Head:
    """The first line and the headers of a request or an answer."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.text = raw.decode("latin-1").rstrip("\r\n")
        self.first_line, *lines = self.text.split("\r\n")
        fields = (line.partition(":") for line in lines)
        self._values = {name.strip().lower(): value.strip() for name, _, value in fields}

    def get(self, name: str) -> str:
        return self._values.get(name, "")

    @property
    def method(self) -> str:
        return self.first_line.partition(" ")[0]

    @property
    def is_answer(self) -> bool:
        return self.first_line.startswith("HTTP/")

    @property
    def status(self) -> int:
        return int(self.first_line.split(" ")[1])

    @property
    def is_chunked(self) -> bool:
        return self.get("transfer-encoding").lower().endswith("chunked")

    def lives_on(self) -> bool:
        """Whether the connection may carry another exchange after this one."""
        if "HTTP/1.1" not in self.first_line or "close" in self.get("connection").lower():
            return False
        return not self.is_answer or self._tells_its_end

    @property
    def _tells_its_end(self) -> bool:
        return self.is_chunked or "content-length" in self._values or self.status in (204, 304)


class Stream:
    """A socket read piece by piece."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self._buffer = b""

    def send(self, data: bytes) -> None:
        self._sock.sendall(data)

    def read_head(self) -> Head | None:
        """The next head; None if the peer has nothing more to say."""
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > HEAD_BYTES_MAX:
                raise Broken("a head without end")
            piece = self._sock.recv(PIECE_BYTES)
            if not piece and not self._buffer:
                return None
            self._buffer += self._more(piece)
        return Head(self._take(end + 4))

    def body(self, head: Head) -> Iterator[bytes]:
        """What follows the head, exactly as it was sent."""
        if head.is_chunked:
            yield from self._chunks()
        elif length := head.get("content-length"):
            yield from self._exactly(int(length))
        elif head.is_answer:
            yield self._take(len(self._buffer))
            while piece := self._sock.recv(PIECE_BYTES):
                yield piece

    def wait_until_gone(self) -> None:
        while self._sock.recv(PIECE_BYTES):
            pass

    def _chunks(self) -> Iterator[bytes]:
        while True:
            line = self._line()
            yield line
            size = int(line.partition(b";")[0], 16)
            if size == 0:
                break
            yield from self._exactly(size + 2)
        while line != b"\r\n":  # the trailers, and the empty line that ends them
            line = self._line()
            yield line

    def _line(self) -> bytes:
        while (end := self._buffer.find(b"\r\n")) < 0:
            self._buffer += self._more(self._sock.recv(PIECE_BYTES))
        return self._take(end + 2)

    def _exactly(self, size: int) -> Iterator[bytes]:
        while size:
            if not self._buffer:
                self._buffer = self._more(self._sock.recv(PIECE_BYTES))
            piece = self._take(size)
            size -= len(piece)
            yield piece

    def _take(self, size: int) -> bytes:
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def _more(self, piece: bytes) -> bytes:
        if not piece:
            raise Broken("ended in the middle of a message")
        return piece
