"""A client of the Kubernetes API with nothing between a test and the wire."""

import http.client
import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

MERGE_PATCH = "application/merge-patch+json"


class Refused(Exception):
    """The apiserver answered, and not with success; the message is its own."""


class NeverHappened(Exception):
    """Something was waited for and did not come true; the message shows what was last seen."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: Any
    """Decoded JSON, or the text where it is none."""

    def ok(self) -> Any:
        """The body of a success; anything else raises."""
        if not 200 <= self.status < 300:
            reason = self.body.get("message") if isinstance(self.body, dict) else self.body
            raise Refused(f"{self.status}: {reason}")
        return self.body


@dataclass(frozen=True)
class Api:
    """One apiserver, its certificate authority, and the token that is sent unless another is given."""

    server: str
    ca_file: Path
    token: str

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        token: str | None = None,
        *,
        content_type: str | None = None,
        timeout_s: float = 120,
    ) -> Answer:
        """Ask once.  A patch is a merge patch unless its content type says otherwise."""
        sent = {"Authorization": f"Bearer {token or self.token}", "Accept": "application/json"}
        if body is not None:
            plain = MERGE_PATCH if method == "PATCH" else "application/json"
            sent["Content-Type"] = content_type or plain
        host = urlsplit(self.server)
        connection = http.client.HTTPSConnection(
            str(host.hostname), host.port, timeout=timeout_s, context=self._trust
        )
        try:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), _decoded(answer.read()))
        finally:
            connection.close()

    def wait_for(
        self, path: str, holds: Callable[[Any], object], *, what: str, timeout_s: float = 600
    ) -> Any:
        """Read the path until its body satisfies; return that body.  A body may be a Status, as for 404."""
        deadline_s = time.monotonic() + timeout_s
        while True:
            seen = self.request("GET", path).body
            if holds(seen):
                return seen
            if time.monotonic() > deadline_s:
                shown = json.dumps(_without_field_owners(seen), indent=1)[:6000]
                raise NeverHappened(f"not within {timeout_s} s: {what}; GET {path} says\n{shown}")
            time.sleep(0.05)

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.ca_file))


def _without_field_owners(body: Any) -> Any:
    """`managedFields` are most of a body, and say nothing about why it does not satisfy."""
    if isinstance(body, dict):
        return {k: _without_field_owners(v) for k, v in body.items() if k != "managedFields"}
    return [_without_field_owners(each) for each in body] if isinstance(body, list) else body


def _decoded(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode(errors="replace")
