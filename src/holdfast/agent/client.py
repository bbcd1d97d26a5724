"""Talking to the servers: several are tried in turn, each call within its time.

A lost answer is Lost: whether the request arrived is unknown.  All that an agent asks may be asked twice.
"""

import http.client
import json
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from holdfast.agent.options import Problem
from holdfast.agent.page import boottime_s

ANSWER_MAX: Final = 65_536
NOT_NOW: Final = frozenset({500, 502, 503, 504})


class Lost(Exception):
    """No server gave an answer that counts."""


@dataclass(frozen=True, slots=True)
class Answer:
    http_status: int
    sent_s: float
    """When this very request was sent."""
    data: Mapping[str, Any]
    code: str = ""
    error: str = ""


@dataclass(slots=True)
class Servers:
    """Where to ask, and with which token; shared by all lines."""

    urls: tuple[str, ...]
    tls: ssl.SSLContext | None
    token: str = ""


def tls_of(urls: tuple[str, ...], ca: Path | None) -> ssl.SSLContext | None:
    if not any(url.startswith("https:") for url in urls):
        return None
    try:
        return ssl.create_default_context(cafile=str(ca) if ca else None)
    except (ssl.SSLError, OSError) as error:
        raise Problem(f"--ca {ca}: {error.strerror or 'it holds no certificate'}") from None


class Line:
    """A connection that is kept open; each thread has its own."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self.turn = 0
        self.connection: http.client.HTTPConnection | None = None

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        within_s: float,
        request_id: str = "",
        token: str = "",
    ) -> Answer:
        """The first answer that counts.  Raises Lost when there is none within this time."""
        until_s, why = boottime_s() + within_s, "no time was left"
        untried = len(self.servers.urls)
        while untried:
            left_s = (until_s - boottime_s()) / untried  # a server that hangs leaves time for the others
            if left_s <= 0.05:
                break
            stale = self.connection is not None  # one that was kept open may be: then it is dialled anew
            try:
                answer = self._once(method, path, body, left_s, request_id, token or self.servers.token)
            except (OSError, http.client.HTTPException, ValueError) as error:
                why = f"{self._url}: {_said(error)}"
                again = stale and not isinstance(error, TimeoutError)
                untried -= 0 if again else 1
                self._hang_up(rotate=not again)
                continue
            if answer.http_status not in NOT_NOW:
                return answer
            why = f"{self._url}: {answer.http_status} {answer.error}".strip()
            untried -= 1
            self._hang_up(rotate=True)
        raise Lost(why)

    def close(self) -> None:
        self._hang_up(rotate=False)

    @property
    def _url(self) -> str:
        return self.servers.urls[self.turn % len(self.servers.urls)]

    def _once(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        left_s: float,
        request_id: str,
        token: str,
    ) -> Answer:
        split = urlsplit(self._url)
        line = self.connection or self._dial(left_s)
        self.connection = line
        if line.sock is not None:
            line.sock.settimeout(left_s)
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        if request_id:
            headers["X-Request-ID"] = request_id
        text = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            text = json.dumps(body, ensure_ascii=False).encode()
        sent_s = boottime_s()
        line.request(method, split.path + path, text, headers)
        reply = line.getresponse()
        said = reply.read(ANSWER_MAX)
        if reply.will_close or reply.read(1):
            self._hang_up(rotate=False)
        return _answer(reply.status, sent_s, said)

    def _dial(self, timeout_s: float) -> http.client.HTTPConnection:
        split = urlsplit(self._url)
        host, port = split.hostname or "", split.port
        if split.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=timeout_s, context=self.servers.tls)
        return http.client.HTTPConnection(host, port, timeout=timeout_s)

    def _hang_up(self, *, rotate: bool) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None
        if rotate:
            self.turn += 1


def _answer(status: int, sent_s: float, said: bytes) -> Answer:
    try:
        envelope = json.loads(said)
    except ValueError:
        envelope = None
    if not isinstance(envelope, dict):
        if status < 300:
            raise ValueError("what it answered is not JSON: is it a Holdfast server?")
        return Answer(status, sent_s, {}, "", f"HTTP {status}")
    data = envelope.get("data")
    error, code = envelope.get("error") or "", envelope.get("code") or ""
    return Answer(status, sent_s, data if isinstance(data, dict) else {}, str(code), str(error))


def _said(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message}): name its authority with --ca"
    if isinstance(error, socket.gaierror):
        return f"its name is not known ({error.strerror})"
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    return str(error) or type(error).__name__
