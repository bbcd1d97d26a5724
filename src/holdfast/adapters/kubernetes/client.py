"""The way to the API server: one pool of connections, TLS verified, one attempt a call.

Nothing here sleeps or tries again, but for one thing: a request that was not let in (401)
has certainly not been carried out, so it is repeated once after signing in again.
"""

import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

import urllib3

from holdfast.adapters.kubernetes.auth.access import SignIn
from holdfast.adapters.kubernetes.calls import Call
from holdfast.adapters.kubernetes.connection import Connection, Request, Stream
from holdfast.adapters.kubernetes.errors import Answer, Denied, status_of, translate_answer

CONNECT_TIMEOUT_S = 3.0
READ_TIMEOUT_S = 15.0
"""Above the ten seconds for which the API server itself tries an eviction that collides with others."""
JSON_PATCH = "application/json-patch+json"
NO_QUERY: Mapping[str, str] = MappingProxyType({})


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
        self._connection = Connection(sign_in())

    def __repr__(self) -> str:
        return f"Client({self._connection.access.url})"

    @property
    def how(self) -> str:
        return self._connection.access.how

    def read(self, call: Call, path: str, query: Mapping[str, str] = NO_QUERY, body: Any = None) -> bytes:
        """The body of a success.  Raises Busy, Denied or Invalid.  Repeatable."""
        answer = self.ask(call, "GET" if body is None else "POST", path, query, body, writes=False)
        if not answer.is_success:
            raise translate_answer(call, answer, writes=False)
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
        request = Request(call, method, _target(path, query), body, content_type, writes)
        connection = self._signed_in()
        answer = connection.send(request, self._timeout)
        if answer.status == 401:
            connection = self._again(connection)
            answer = connection.send(request, self._timeout)
        if answer.status == 401:
            raise _not_let_in(call, answer, connection)
        return answer

    def stream(self, call: Call, path: str, query: Mapping[str, str], *, silence_max_s: float) -> Stream:
        """An answer that goes on; whatever the server says but 401 is one.  Repeatable.

        `silence_max_s`: it breaks off if nothing comes for so long.  Raises Busy or Denied.
        """
        request = Request(call, "GET", _target(path, query), None, "", writes=False)
        timeout = urllib3.Timeout(connect=CONNECT_TIMEOUT_S, read=silence_max_s)
        connection = self._signed_in()
        opened = connection.stream(request, timeout)
        if opened.status == 401:
            opened.close()
            connection = self._again(connection)
            opened = connection.stream(request, timeout)
        if opened.status == 401:
            raise _not_let_in(call, opened.whole(), connection)
        return opened

    def close(self) -> None:
        self._connection.pool.close()

    def _signed_in(self) -> Connection:
        connection = self._connection
        return self._again(connection) if connection.access.expired() else connection

    def _again(self, used: Connection) -> Connection:
        """Sign in again, unless another thread just has."""
        with self._turn:
            if self._connection is used:
                self._connection = Connection(self._sign_in())
            return self._connection


def _target(path: str, query: Mapping[str, str]) -> str:
    return path + (f"?{urlencode(query)}" if query else "")


def _not_let_in(call: Call, answer: Answer, connection: Connection) -> Denied:
    return Denied(
        f"{call}: 401 {status_of(answer).message}, also after signing in again by {connection.access.how}"
        " (renew the token or certificate there)"
    )
