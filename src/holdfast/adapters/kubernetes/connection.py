"""Connections to one API server, made for one way of signing in: a request goes out, an answer comes back."""

import re
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import urlsplit

import msgspec
import urllib3
from urllib3 import exceptions

from holdfast.adapters.kubernetes.auth.access import Access
from holdfast.adapters.kubernetes.calls import Call
from holdfast.adapters.kubernetes.errors import Answer, translate_lost_answer
from holdfast.cloud.kubernetes import UNREACHABLE
from holdfast.kernel import Busy, Invalid

CONNECTIONS_MAX = 16
PIECE_BYTES = 1 << 16
SENDABLE = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Request:
    call: Call
    method: str
    target: str
    body: Any = field(repr=False)
    content_type: str
    writes: bool


class Connection:
    """A pool of connections with the token that each request shows.  Safe to share among threads."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.pool, self._base = _pool(access)

    def send(self, request: Request, timeout: urllib3.Timeout) -> Answer:
        got = self._open(request, timeout, whole=True)
        return Answer(got.status, got.data, _retry_after_s(got))

    def stream(self, request: Request, timeout: urllib3.Timeout) -> "Stream":
        """The head has come; what follows comes piece by piece."""
        got = self._open(request, timeout, whole=False)
        return Stream(got, lambda error: self._explain(request, error))

    def _open(self, request: Request, timeout: urllib3.Timeout, *, whole: bool) -> urllib3.BaseHTTPResponse:
        headers = {"Accept": "application/json", "User-Agent": "holdfast"}
        if token := self.access.token():
            headers["Authorization"] = f"Bearer {_sendable(token, self.access.how)}"
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        body = None if request.body is None else msgspec.json.encode(request.body)
        try:
            return self.pool.urlopen(
                request.method,
                self._base + request.target,
                body=body,
                headers=headers,
                retries=False,
                redirect=False,
                assert_same_host=False,
                timeout=timeout,
                preload_content=whole,
            )
        except exceptions.HTTPError as error:
            self._explain(request, error)

    def _explain(self, request: Request, error: exceptions.HTTPError) -> NoReturn:
        """Raise what a failed exchange means.  Requests and tokens are in none of urllib3's messages."""
        call, url = request.call, self.access.url
        inner = error.args[0] if error.args else None
        if isinstance(error, exceptions.NewConnectionError | exceptions.ConnectTimeoutError):
            raise Busy(f"{UNREACHABLE}: {call} at {url}: {_short(error)}") from error  # it never left
        if isinstance(inner, ssl.SSLCertVerificationError):
            raise Invalid(
                f"{call}: {url} cannot prove its identity: {inner.verify_message}"
                " (check the address, and that the CA is this cluster's)"
            ) from error
        raise translate_lost_answer(call, f"{url}: {error}", writes=request.writes) from error


class Stream:
    """An answer that goes on for as long as the server has something to say."""

    def __init__(
        self, got: urllib3.BaseHTTPResponse, explain: Callable[[exceptions.HTTPError], NoReturn]
    ) -> None:
        self._got, self._explain = got, explain
        self.status = got.status

    def whole(self) -> Answer:
        """What a refusal says."""
        return Answer(self.status, b"".join(self.pieces()), _retry_after_s(self._got))

    def pieces(self) -> Iterator[bytes]:
        """As they come.  Ends where the server ends it; raises Busy where it breaks off or falls silent."""
        try:
            yield from self._got.stream(PIECE_BYTES)
        except exceptions.HTTPError as error:
            self._explain(error)

    def close(self) -> None:
        """A stream that has ended leaves its connection for the next one; any other loses it."""
        self._got.release_conn() if self._got.closed else self._got.close()


def _retry_after_s(got: urllib3.BaseHTTPResponse) -> float:
    after = got.headers.get("Retry-After", "")
    return float(after) if after.isdecimal() else 0.0


def _short(error: exceptions.HTTPError) -> str:
    """Without the connection's own name, which the address says better."""
    return str(error).rpartition("): ")[2]


def _pool(access: Access) -> tuple[urllib3.HTTPConnectionPool, str]:
    """The pool, and what stands before every path."""
    at = urlsplit(access.url)
    host, base = at.hostname or "", at.path.rstrip("/")
    if access.trust is None:
        return urllib3.HTTPConnectionPool(host, at.port, maxsize=CONNECTIONS_MAX), base
    return urllib3.HTTPSConnectionPool(
        host,
        at.port,
        maxsize=CONNECTIONS_MAX,
        ssl_context=access.trust,
        server_hostname=access.tls_name or None,
    ), base


def _sendable(token: str, how: str) -> str:
    """The token itself.  One that no header can carry would be quoted in http.client's own error."""
    if not SENDABLE.fullmatch(token):
        raise Invalid(f"{how}: the token has blanks, line breaks or foreign characters (store it bare)")
    return token
