"""A proxy that spoils chosen exchanges between a real client and a real server.

It speaks enough HTTP/1.1 to know where a request and its answer end, so it can do what a
network does at the worst moment: deliver a request and lose the answer.  Which exchange
meets which fate is scripted, so a test that failed fails again:

    with FaultProxy("127.0.0.1", port, fate=lambda n, head: RESET_AFTER if n == 2 else PASS) as proxy:
        ...talk to proxy.endpoint...
    FaultProxy(..., fate=[exchange.fate for exchange in proxy.log])    # the same again

Every exchange gets a connection of its own to the server: a stale one would be a fault
that the script did not choose.
"""

import contextlib
import enum
import json
import socket
import struct
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, Self

from holdfast.testing.http import Broken, Head, Stream

CONNECT_TIMEOUT_S = 10.0
END_TIMEOUT_S = 10.0
REFUSED_STATUS = 400
RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # linger for zero seconds: close sends RST


class Kind(enum.Enum):
    PASS = enum.auto()
    LATENCY = enum.auto()
    RESET_BEFORE = enum.auto()
    RESET_AFTER = enum.auto()
    HALF_ANSWER = enum.auto()
    BLACK_HOLE = enum.auto()
    REFUSED = enum.auto()


@dataclass(frozen=True, slots=True, repr=False)
class Fate:
    """What becomes of one exchange."""

    kind: Kind
    delay_s: float = 0.0
    delivered: bool = True
    code: str = ""

    def __repr__(self) -> str:
        """Source text, so that a printed log can be pasted as a script."""
        if self.kind is Kind.LATENCY:
            return f"latency({self.delay_s!r})"
        if self.kind is Kind.BLACK_HOLE:
            return f"black_hole(delivered={self.delivered})"
        if self.kind is Kind.REFUSED:
            return f"refused({self.code!r})"
        return self.kind.name


PASS = Fate(Kind.PASS)
RESET_BEFORE = Fate(Kind.RESET_BEFORE, delivered=False)  # the server never hears of it
RESET_AFTER = Fate(Kind.RESET_AFTER)  # the server has answered in full; the client is reset instead
HALF_ANSWER = Fate(Kind.HALF_ANSWER)  # the head and at most half of the body, then a reset


def latency(delay_s: float) -> Fate:
    """The request stays on its way for so long.  It arrives even if the client has given up by then."""
    return Fate(Kind.LATENCY, delay_s=delay_s)


def black_hole(*, delivered: bool) -> Fate:
    """No answer until the client gives up; the server has done its work, or never heard of it."""
    return Fate(Kind.BLACK_HOLE, delivered=delivered)


def refused(code: str) -> Fate:
    """The server never hears of it; the client has a refusal with this code, as AWS writes one in JSON."""
    return Fate(Kind.REFUSED, delivered=False, code=code)


class Exchange(NamedTuple):
    """One line of the log."""

    n: int
    request_line: str
    fate: Fate


Choose = Callable[[int, str], Fate]


class FaultProxy:
    """Listens on a free loopback port until it is closed; then no thread or socket is left.

    `fate` is called with the number of the exchange, from 0 in order of arrival, and the head
    of its request; or it is a series of fates, after whose end everything passes.
    """

    def __init__(self, upstream_host: str, upstream_port: int, *, fate: Choose | Iterable[Fate] = ()) -> None:
        self.log: list[Exchange] = []
        self._upstream_address = (upstream_host, upstream_port)
        self._choose = fate if callable(fate) else _scripted(fate)
        self._turn = threading.Lock()  # one exchange is numbered at a time
        self._failure: BaseException | None = None  # what the script raised
        self._sockets = _Sockets()
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self._acceptor = threading.Thread(target=self._accept, name=f"fault-proxy-{self.port}", daemon=True)
        self._acceptor.start()

    def close(self) -> None:
        """End every connection and thread.  Raises what the script raised, if it did."""
        if not self._ended.is_set():
            self._ended.set()
            with contextlib.suppress(OSError):  # wakes the acceptor
                socket.create_connection(("127.0.0.1", self.port), timeout=END_TIMEOUT_S).close()
            self._acceptor.join(END_TIMEOUT_S)
            self._listener.close()
            self._sockets.end()
            for thread in self._threads:
                thread.join(END_TIMEOUT_S)
            if any(thread.is_alive() for thread in (self._acceptor, *self._threads)):
                raise RuntimeError("the fault proxy did not end: a fate function must not wait for ever")
            if self._failure is not None:
                raise self._failure

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            if self._ended.is_set():
                client.close()
                return
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            name = f"fault-proxy-{self.port}-client"
            thread = threading.Thread(target=self._serve, args=(client,), name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        """One client connection: exchanges until one side ends it."""
        with contextlib.suppress(Broken), self._sockets.kept(client):  # broken here: closed meanwhile
            try:
                stream = Stream(client)
                while self._exchange(stream):
                    pass
            except (OSError, ValueError):
                # A chosen reset, or a peer that broke off: either way the client sees a broken connection.
                with contextlib.suppress(OSError):
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)

    def _exchange(self, client: Stream) -> bool:
        """Serve one request; say whether the connection lives on."""
        head = client.read_head()
        if head is None:
            return False
        fate = self._number(head)
        if head.get("expect").lower() == "100-continue":
            client.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        request = head.raw + b"".join(client.body(head))
        match fate.kind:
            case Kind.PASS | Kind.LATENCY:
                if self._ended.wait(fate.delay_s):
                    raise Broken("closed")
                return self._pass_on(client, head, request)
            case Kind.RESET_BEFORE:
                raise Broken(fate)
            case Kind.RESET_AFTER:
                list(self._answer(head, request))
                raise Broken(fate)
            case Kind.HALF_ANSWER:
                answer_head, *body = self._answer(head, request)
                client.send(_half(answer_head, b"".join(body)))
                raise Broken(fate)
            case Kind.BLACK_HOLE:
                if fate.delivered:
                    list(self._answer(head, request))
                client.wait_until_gone()
                return False
            case Kind.REFUSED:
                client.send(_refusal(fate.code))
                return head.lives_on()

    def _number(self, head: Head) -> Fate:
        with self._turn:
            n = len(self.log)
            try:
                fate = self._choose(n, head.text)
            except Exception as error:
                self._failure = self._failure or error
                raise Broken("the fate function failed") from error
            self.log.append(Exchange(n, head.first_line, fate))
            return fate

    def _pass_on(self, client: Stream, head: Head, request: bytes) -> bool:
        with contextlib.closing(self._answer(head, request)) as answer:
            answer_head = next(answer)
            client.send(answer_head)
            for piece in answer:
                client.send(piece)
        return head.lives_on() and Head(answer_head).lives_on()

    def _answer(self, head: Head, request: bytes) -> Generator[bytes, None, None]:
        """Deliver the request; give the head of the answer, then its body as it comes."""
        upstream = socket.create_connection(self._upstream_address, timeout=CONNECT_TIMEOUT_S)
        with self._sockets.kept(upstream):
            upstream.settimeout(None)
            stream = Stream(upstream)
            stream.send(request)
            answer_head = stream.read_head()
            while answer_head is not None and answer_head.status < 200 and answer_head.status != 101:
                answer_head = stream.read_head()  # "go on" and "early hints" are not the answer
            if answer_head is None or answer_head.status == 101:
                raise Broken("no answer, or a change of protocol, which is not carried")
            yield answer_head.raw
            if head.method != "HEAD" and answer_head.status not in (204, 304):
                yield from stream.body(answer_head)


def _scripted(fates: Iterable[Fate]) -> Choose:
    remaining = iter(fates)
    return lambda n, head: next(remaining, PASS)


def _half(head: bytes, body: bytes) -> bytes:
    return head + body[: len(body) // 2] if body else head[: len(head) // 2]


def _refusal(code: str) -> bytes:
    body = json.dumps({"__type": code, "message": f"{code}, as the proxy was told"}).encode()
    head = (
        f"HTTP/1.1 {REFUSED_STATUS} Bad Request",
        "Content-Type: application/x-amz-json-1.1",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join((*head, "", "")).encode() + body


class _Sockets:
    """The open sockets of all threads, so that one call can end whatever they wait for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._ended = False

    @contextlib.contextmanager
    def kept(self, sock: socket.socket) -> Iterator[None]:
        """Hold the socket while it is in use; close it afterwards."""
        try:
            with self._lock:
                if self._ended:
                    raise Broken("closed")
                self._open.add(sock)
            yield
        finally:
            with self._lock:
                self._open.discard(sock)
                sock.close()

    def end(self) -> None:
        with self._lock:
            self._ended = True
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
