"""Asking the scripted service, from a test or from an instance that boots."""

import json
import urllib.error
import urllib.request
from typing import Any

from tools.parts.imds.server import TOKEN, TTL


class Refused(Exception):
    """The control endpoint would not; the message says why."""


def ask(method: str, url: str, body: bytes | None = None, *, timeout_s: float = 600) -> Any:
    """One JSON control request."""
    request = urllib.request.Request(url, data=body, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            said = error.read().decode(errors="replace")
        raise Refused(f"{method} {url}: {said}") from None


def get(endpoint: str, path: str, token: str | None = None) -> tuple[int, str]:
    """Status and text at a metadata path, such as `meta-data/instance-id`."""
    headers = {TOKEN: token} if token is not None else {}
    return _speak(urllib.request.Request(f"{endpoint}/latest/{path}", headers=headers))


def open_session(endpoint: str, ttl_s: int = 60) -> str:
    """A session token."""
    url = f"{endpoint}/latest/api/token"
    status, token = _speak(urllib.request.Request(url, headers={TTL: str(ttl_s)}, method="PUT"))
    if status != 200:
        raise Refused(f"PUT {url} answered {status}")
    return token


def _speak(request: urllib.request.Request) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
