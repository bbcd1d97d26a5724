"""The instance metadata service, version 2: who this instance is, and whether it will be reclaimed.

404 means that there is no notice; 401 that the session's token has run out, which is renewed at once.
Whatever else goes wrong, the next second asks again.
"""

import http.client
import json
import time
from calendar import timegm
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from holdfast.agent.page import boottime_s
from holdfast.failover.agent.words import Notice

TTL, TOKEN = "X-aws-ec2-metadata-token-ttl-seconds", "X-aws-ec2-metadata-token"
TTL_S: Final = 3_600
RENEWED_BEFORE_S: Final = 15.0
TIMEOUT_S: Final = 2.0
FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"
ACTIONS: Final = ("terminate", "stop", "hibernate")
USUAL_S: Final = 120.0
"""What the cloud gives: the deadline of a notice whose time cannot be read, and the latest of any, since
the clock of this machine may be behind."""
PAST_S: Final = 600.0
"""A time so long ago is of a termination that never came."""


class Absent(Exception):
    """No metadata service answers here."""


class Imds:
    def __init__(self, url: str, timeout_s: float = TIMEOUT_S) -> None:
        split = urlsplit(url)
        self.host, self.port, self.base = split.hostname or "", split.port or 80, split.path.rstrip("/")
        self.timeout_s = timeout_s
        self.token, self.until_s = "", 0.0

    def identity(self) -> dict[str, str]:
        """What this instance is; fields that are not there are empty.  Raises Absent."""
        paths = {
            "instance_id": "instance-id",
            "instance_type": "instance-type",
            "az": "placement/availability-zone",
            "region": "placement/region",
            "address": "local-ipv4",
        }
        return {name: self.read(path) or "" for name, path in paths.items()}

    def notices(self) -> Iterator[Notice]:
        """What the cloud announces at this moment, each as soon as it is read.  Raises Absent."""
        action = _json(self.read("spot/instance-action"))
        if action is not None and (notice := _termination(action)):
            yield notice
        hint = _json(self.read("events/recommendations/rebalance"))
        if hint is not None:
            yield Notice(kind="rebalance", time=str(hint.get("noticeTime", ""))[:64])

    def read(self, path: str) -> str | None:
        """The text at a path under `meta-data/`; None if there is none.  Raises Absent."""
        if boottime_s() >= self.until_s:
            self._open_session()
        status, text = self._ask("GET", f"/latest/meta-data/{path}", {TOKEN: self.token})
        if status == 401:
            self._open_session()
            status, text = self._ask("GET", f"/latest/meta-data/{path}", {TOKEN: self.token})
        if status == 404:
            return None
        if status != 200:
            raise Absent(f"the metadata service answered {status} for {path}")
        return text

    def _open_session(self) -> None:
        now_s = boottime_s()
        status, token = self._ask("PUT", "/latest/api/token", {TTL: str(TTL_S)})
        if status != 200:
            why = "it is switched off for this instance" if status == 403 else "is it a metadata service?"
            raise Absent(f"the metadata service gave no token ({status}): {why}")
        self.token, self.until_s = token, now_s + TTL_S - RENEWED_BEFORE_S

    def _ask(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, str]:
        line = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout_s)
        try:
            line.request(method, self.base + path, headers=headers)
            reply = line.getresponse()
            return reply.status, reply.read(16_384).decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            said = str(error) or type(error).__name__
            raise Absent(f"no metadata service answers at {self.host}:{self.port} ({said})") from None
        finally:
            line.close()


def _json(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        value = {}
    return value if isinstance(value, dict) else {}


def _termination(said: dict[str, Any]) -> Notice | None:
    action, at = str(said.get("action", "")), str(said.get("time", ""))[:64]
    try:
        left_s = timegm(time.strptime(at, FORMAT)) - time.time()
    except ValueError:
        left_s = USUAL_S
    if left_s < -PAST_S:
        return None
    return Notice(
        kind="termination",
        action=action if action in ACTIONS else ACTIONS[0],
        time=at,
        deadline_s=boottime_s() + min(max(0.0, left_s), USUAL_S),
    )
