"""Questions to the HTTP API of a Prometheus, and its answers: whole, or none with the reason."""

import time
from typing import Any, Final

import msgspec
import urllib3

TIMEOUT_S: Final = 5.0
BODY_MAX: Final = 16 * 1024 * 1024
URL_MAX: Final = 4_000
"""Longer questions are posted: proxies cut addresses."""
SHOWN: Final = 80


class NoAnswer(Exception):
    """Nothing can be said; the message says why, and what to check."""


class Series(msgspec.Struct, frozen=True, gc=False):
    metric: dict[str, str]
    value: tuple[float, str]

    @property
    def at_s(self) -> float:
        """When it was evaluated, by the server's clock: not when its samples were taken."""
        return self.value[0]

    @property
    def number(self) -> float:
        """Perhaps NaN, or without end.  Raises NoAnswer for what is no number at all."""
        try:
            return float(self.value[1])
        except ValueError as error:
            raise NoAnswer(f"it calls {self.value[1][:SHOWN]!r} a number: check prometheus_url") from error


class _Data(msgspec.Struct, frozen=True):
    result: list[Series]


class _Answer(msgspec.Struct, frozen=True):
    status: str
    data: _Data | None = None
    error: str = ""
    warnings: list[str] = []


_decode: Final = msgspec.json.Decoder(_Answer).decode


class PromQl:
    """Asks once, and waits `timeout_s` at most."""

    def __init__(
        self, url: str, *, timeout_s: float = TIMEOUT_S, http: urllib3.PoolManager | None = None
    ) -> None:
        self.url, self._timeout_s = url.rstrip("/"), timeout_s
        self._http = http or urllib3.PoolManager()

    def query(self, asked: str) -> list[Series]:
        """The instant vector.  Repeatable.  Raises NoAnswer."""
        status, body = self._ask(asked)
        try:
            answer = _decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            shown = " ".join(body[:SHOWN].decode(errors="replace").split())
            raise NoAnswer(
                f"HTTP {status} with {shown!r}, which is no answer of Prometheus: check prometheus_url"
            ) from error
        if answer.status != "success" or answer.data is None:
            raise NoAnswer(f"HTTP {status}: {answer.error[:SHOWN] or answer.status}")
        if answer.warnings:
            raise NoAnswer(f"it says that its answer is not whole: {answer.warnings[0][:SHOWN]}")
        return answer.data.result

    def _ask(self, asked: str) -> tuple[int, bytes]:
        fields = {"query": asked, "timeout": f"{self._timeout_s:g}s"}
        post = len(asked) > URL_MAX
        options: dict[str, Any] = {
            "timeout": urllib3.Timeout(total=self._timeout_s),
            "retries": False,
            "preload_content": False,
            **({"encode_multipart": False} if post else {}),
        }
        deadline_s = time.monotonic() + self._timeout_s
        try:
            answer = self._http.request(
                "POST" if post else "GET", f"{self.url}/api/v1/query", fields=fields, **options
            )
            try:
                return answer.status, _whole(answer, deadline_s)
            finally:
                answer.close()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise NoAnswer(f"{error}: check prometheus_url, and that it can be reached from here") from error


def _whole(answer: urllib3.BaseHTTPResponse, deadline_s: float) -> bytes:
    """The body, unless it comes too slowly or without end."""
    body = bytearray()
    while chunk := answer.read1(65_536):
        body += chunk
        if time.monotonic() > deadline_s:
            raise NoAnswer("its answer came too slowly: check how busy it is")
        if len(body) > BODY_MAX:
            raise NoAnswer(f"its answer has more than {BODY_MAX} bytes: check prometheus_url")
    return bytes(body)
