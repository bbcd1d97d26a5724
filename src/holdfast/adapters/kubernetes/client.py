"""The way to the API server: one pool of connections, TLS verified, one attempt a call.

Nothing here sleeps or tries again, but for one thing: a request that was not let in (401)
has certainly not been carried out, so it is repeated once after signing in again.
"""

import re
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NoReturn
from urllib.parse import urlencode, urlsplit

import msgspec
import urllib3
from urllib3 import exceptions

from holdfast.adapters.kubernetes.calls import Call
from holdfast.adapters.kubernetes.meaning import Answer, Denied, lost, refusal, status_of
from holdfast.kernel import Busy, Invalid

CONNECT_TIMEOUT_S = 3.0
READ_TIMEOUT_S = 15.0
"""Above the ten seconds for which the API server itself tries an eviction that collides with others."""
CONNECTIONS_MAX = 16
JSON_PATCH = "application/json-patch+json"
NO_QUERY: Mapping[str, str] = MappingProxyType({})
SENDABLE = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Access:
    """Where the API server is, how it proves itself to us, and we to it."""

    url: str
    how: str
    """The way we signed in, as told to people: never a secret."""
    trust: ssl.SSLContext | None = field(repr=False)
    """Also holds our certificate, if we have one.  None: plain HTTP, on this machine only."""
    token: Callable[[], str] = field(repr=False)
    """Asked before each request, because tokens rotate.  Empty: the certificate is all we show."""
    tls_name: str = ""
    """The name in the server's certificate, where it is not the one in the address."""


SignIn = Callable[[], Access]
"""Looks up the way anew, each time from its source."""


class Client:
    """Asks the API server.  Safe to share among threads."""

    def __init__(
        self,
        sign_in: SignIn,
        *,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        read_timeout_s: float = READ_TIMEOUT_S,
    ) -> None:
        self._sign_in = sign_in
        self._timeout = urllib3.Timeout(connect=connect_timeout_s, read=read_timeout_s)
        self._turn = threading.Lock()
        self._line = _Line(sign_in())

    def __repr__(self) -> str:
        return f"Client({self._line.access.url})"

    @property
    def how(self) -> str:
        return self._line.access.how

    def read(self, call: Call, path: str, query: Mapping[str, str] = NO_QUERY, body: Any = None) -> bytes:
        """The body of a success.  Raises Busy, Denied or Invalid.  Repeatable."""
        answer = self.ask(call, "GET" if body is None else "POST", path, query, body, writes=False)
        if not answer.is_success:
            raise refusal(call, answer, writes=False)
        return answer.body

    def ask(
        self,
        call: Call,
        method: str,
        path: str,
        query: Mapping[str, str] = NO_QUERY,
        body: Any = None,
        *,
        writes: bool,
        content_type: str = "application/json",
    ) -> Answer:
        """One attempt; whatever the server says but 401 is an answer.

        Raises Busy if the request certainly was not carried out, or only reads; Unknown if it
        writes and the answer was lost; Denied if we are not let in.
        """
        target = path + (f"?{urlencode(query)}" if query else "")
        request = _Request(call, method, target, body, content_type, writes)
        line = self._line
        answer = line.send(request, self._timeout)
        if answer.status == 401:
            line = self._again(line)
            answer = line.send(request, self._timeout)
        if answer.status == 401:
            why = status_of(answer).message
            raise Denied(
                f"{call}: 401 {why}, also after signing in again by {line.access.how}"
                " (renew the token or certificate there)"
            )
        return answer

    def close(self) -> None:
        self._line.pool.close()

    def _again(self, used: "_Line") -> "_Line":
        """Sign in again, unless another thread just has."""
        with self._turn:
            if self._line is used:
                self._line = _Line(self._sign_in())
            return self._line


@dataclass(frozen=True, slots=True)
class _Request:
    call: Call
    method: str
    target: str
    body: Any = field(repr=False)
    content_type: str
    writes: bool


class _Line:
    """Connections to one server, made for one way of signing in."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.pool, self._base = _pool(access)

    def send(self, request: _Request, timeout: urllib3.Timeout) -> Answer:
        headers = {"Accept": "application/json", "User-Agent": "holdfast"}
        if token := self.access.token():
            headers["Authorization"] = f"Bearer {_sendable(token, self.access.how)}"
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        body = None if request.body is None else msgspec.json.encode(request.body)
        try:
            got = self.pool.urlopen(
                request.method,
                self._base + request.target,
                body=body,
                headers=headers,
                retries=False,
                redirect=False,
                assert_same_host=False,
                timeout=timeout,
            )
        except exceptions.HTTPError as error:
            self._explain(request, error)
        after = got.headers.get("Retry-After", "")
        return Answer(got.status, got.data, float(after) if after.isdecimal() else 0.0)

    def _explain(self, request: _Request, error: exceptions.HTTPError) -> NoReturn:
        """Raise what a failed exchange means.  Requests and tokens are in none of urllib3's messages."""
        call, url = request.call, self.access.url
        inner = error.args[0] if error.args else None
        if isinstance(error, exceptions.NewConnectionError | exceptions.ConnectTimeoutError):
            raise Busy(f"{call}: {url} cannot be reached: {error}") from error  # it never left
        if isinstance(inner, ssl.SSLCertVerificationError):
            raise Invalid(
                f"{call}: {url} cannot prove who it is: {inner.verify_message}"
                " (check the address, and that the CA is this cluster's)"
            ) from error
        raise lost(call, f"{url}: {error}", writes=request.writes) from error


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
