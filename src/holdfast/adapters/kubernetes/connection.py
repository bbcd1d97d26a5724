"""Connections to one API server, made for one way of signing in: a request goes out, an answer comes back."""

import re
import ssl
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
