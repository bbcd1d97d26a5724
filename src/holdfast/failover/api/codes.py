"""Every refusal, by its code: the HTTP status and what it means for the caller."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self


class Code(StrEnum):
    """A member is its name on the wire."""

    http_status: int
    says: str

    def __new__(cls, code: str, http_status: int, says: str) -> Self:
        member = str.__new__(cls, code)
        member._value_ = code
        member.http_status, member.says = http_status, says
        return member

    INVALID_REQUEST = "INVALID_REQUEST", 400, "A field is missing, unknown or of the wrong type."
    UNAUTHENTICATED = "UNAUTHENTICATED", 401, "The token is missing, unknown, expired or used up."
    FORBIDDEN = "FORBIDDEN", 403, "The token is valid and does not allow this operation."
    NOT_FOUND = "NOT_FOUND", 404, "There is no such thing for this client."
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED", 405, "The path is known, the method is not."
    VERSION_CONFLICT = "VERSION_CONFLICT", 409, "The group has changed since it was read: read it again."
    PROMOTION_FAILED = "PROMOTION_FAILED", 409, "The candidate cannot be promoted; the message says why."
    SESSION_HELD = "SESSION_HELD", 409, "Another process with this instance id still holds the session."
    STALE_SESSION = "STALE_SESSION", 409, "The session is no longer this instance's: register again."
    INVALID_STATE = "INVALID_STATE", 409, "The group's present state does not allow this."
    PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE", 413, "The body is larger than this operation takes."
    INVALID_CONFIGURATION = "INVALID_CONFIGURATION", 422, "The settings exclude each other."
    REQUEST_ID_REUSED = "REQUEST_ID_REUSED", 422, "This X-Request-ID was used for another request."
    RATE_LIMITED = (
        "RATE_LIMITED",
        429,
        "Too many requests of this client, or unknown tokens: wait for Retry-After.",
    )
    UNAVAILABLE = "UNAVAILABLE", 503, "The database did not answer in time: try again after Retry-After."
    RECOVERING = "RECOVERING", 503, "The database went back in time: an operator must run `recover`."


@dataclass(eq=False)
class Refusal(Exception):
    """A request that is not granted.  Nothing was changed.

    Not frozen: an exception that passes through a context manager is given its traceback there.
    """

    code: Code
    message: str
    details: Mapping[str, object] = field(default_factory=dict)
    retry_after_s: float | None = None

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"
