"""Posting JSON to an address of the operator's: one attempt, a short time limit, no redirect followed.

The time limit is that of the whole exchange, also where an answer comes byte by byte or has no end: the
status counts, and of what is said beside it only the beginning is read.

A secret signs each body in the manner of Standard Webhooks, so that a receiver can check who sent it and
when.  An address may hold a secret itself: no error shows more of it than its host.
"""

import base64
import binascii
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import urllib3

from holdfast.kernel import Busy, Invalid, Unknown

TIMEOUT_S: Final = 5.0
PREFIX: Final = "whsec_"
SHOWN: Final = 80


class Webhook:
    def __init__(
        self,
        url: str,
        *,
        secret: str = "",
        timeout_s: float = TIMEOUT_S,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._url, self._key, self._now_s = url, key_of(secret), now_s
        self._timeout_s = timeout_s
        self._timeout = urllib3.Timeout(connect=min(3.0, timeout_s), read=timeout_s, total=timeout_s)
        self._http = urllib3.PoolManager()
        self._host = urlsplit(url).hostname or "?"

    def post(self, body: Mapping[str, Any], message_id: str) -> None:
        """Raises Busy where nothing was taken, Unknown where that is not known, Invalid for a plain no.

        Twice is two requests with one `webhook-id`, by which the receiver can tell.
        """
        content = json.dumps(body, ensure_ascii=False).encode()
        headers = {"content-type": "application/json", "user-agent": "holdfast"}
        if self._key:
            headers |= signed(content, message_id, int(self._now_s()), self._key)
        answers: list[tuple[int, bytes] | Busy | Unknown] = []
        # The limits of sockets begin anew with each byte, and those of names are the system's: one that still
        # hangs is left behind.
        asking = threading.Thread(target=lambda: answers.append(self._asked(content, headers)), daemon=True)
        asking.start()
        asking.join(self._timeout_s)
        answer = answers[0] if answers else Unknown(f"{self._host} gave no answer in {self._timeout_s:g} s")
        if isinstance(answer, Busy | Unknown):
            raise answer
        self._judge(*answer)

    def _asked(self, content: bytes, headers: Mapping[str, str]) -> tuple[int, bytes] | Busy | Unknown:
        """The status, and the beginning of what is said about a refusal."""
        try:
            answer = self._http.request(
                "POST",
                self._url,
                body=content,
                headers=headers,
                timeout=self._timeout,
                retries=False,
                redirect=False,
                preload_content=False,
            )
            try:
                return answer.status, b"" if 200 <= answer.status < 300 else answer.read1(SHOWN)
            finally:
                answer.close()
        except (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError) as error:
            return Busy(f"{self._host} cannot be reached: {_cause(error)}")
        except (urllib3.exceptions.HTTPError, OSError) as error:
            return Unknown(f"{self._host} gave no answer: {_cause(error)}")

    def _judge(self, status: int, body: bytes) -> None:
        if 200 <= status < 300:
            return
        said = " ".join(body[:SHOWN].decode(errors="replace").split())
        problem = f"{self._host} answers HTTP {status}{f': {said}' if said else ''}"
        if status == 429 or status >= 500:
            raise Busy(problem)
        fix = "give the address that it redirects to" if 300 <= status < 400 else "check the address"
        raise Invalid(f"{problem} ({fix})")


def _cause(error: BaseException) -> str:
    """In the system's own words, such as `Connection refused`; urllib3's hold the address."""
    while (below := error.__cause__ or error.__context__) is not None:
        error = below
    if isinstance(error, TimeoutError):
        return "timed out"
    return (isinstance(error, OSError) and error.strerror) or type(error).__name__


def key_of(secret: str) -> bytes:
    """`whsec_` and base64, or any text as it is.  Raises Invalid without showing it."""
    if not secret.startswith(PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error as error:
        raise Invalid(f"notify_webhook_secret begins with {PREFIX} and is no base64 after it") from error


def signed(content: bytes, message_id: str, at_s: int, key: bytes) -> dict[str, str]:
    """The three headers of Standard Webhooks."""
    text = b".".join((message_id.encode(), str(at_s).encode(), content))
    digest = base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(at_s),
        "webhook-signature": f"v1,{digest}",
    }
