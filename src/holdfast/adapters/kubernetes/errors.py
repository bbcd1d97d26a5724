"""The API server's answers as errors of the kernel: refused, to be repeated later, or unknown."""

from dataclasses import dataclass, field

import msgspec

from holdfast.adapters.kubernetes.calls import Call
from holdfast.cloud.kubernetes import UNREACHABLE, Value
from holdfast.kernel import Busy, Conflict, HoldfastError, Invalid, Unknown

TEXT_MAX = 300
"""So much of an answer that is no Status is shown: a proxy's page says all in its first lines."""


class Denied(Invalid):
    """The API server does not know us, or does not let us.  Certainly not done; the message has the fix."""


class Throttled(Busy):
    """The API server asks for patience.  Certainly not done."""

    def __init__(self, told: str, retry_after_s: float) -> None:
        super().__init__(f"{told} (Retry-After: {retry_after_s:g} s)" if retry_after_s else told)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes = field(repr=False)
    retry_after_s: float = 0.0

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class Cause(Value, frozen=True):
    reason: str = ""
    message: str = ""


class Details(Value, frozen=True):
    causes: tuple[Cause, ...] = ()
    retry_after_seconds: int = 0


class Status(Value, frozen=True):
    """What Kubernetes sends instead of the thing that was asked for."""

    message: str = ""
    reason: str = ""
    details: Details = Details()

    def cause(self, reason: str) -> Cause | None:
        return next((cause for cause in self.details.causes if cause.reason == reason), None)


_status = msgspec.json.Decoder(Status)


def status_of(answer: Answer) -> Status:
    """The Status in an answer; its first words where it is something else."""
    try:
        return _status.decode(answer.body)
    except msgspec.DecodeError:
        return Status(message=answer.body[:TEXT_MAX].decode(errors="replace").strip())


def translate_answer(call: Call, answer: Answer, *, writes: bool) -> HoldfastError:
    """The error to raise for an answer that is no success."""
    status = status_of(answer)
    told = f"{call}: {answer.status} {status.message or status.reason or 'without a reason'}"
    if answer.status == 409:
        return Conflict(told)
    if answer.status == 429:
        return Throttled(told, answer.retry_after_s)
    if answer.status == 403:
        fix = call.fix if lacks_permission(status) else "an admission rule of the cluster forbids it"
        return Denied(f"{told} ({fix})")
    if answer.status >= 500 or answer.status in (408, 410):
        return Unknown(told) if writes else Busy(told)
    if answer.status == 404:
        return Invalid(f"{told} (check the server's address, and that the API is installed)")
    return Invalid(f"{told} (the request itself is wrong; this is a defect)")


def lacks_permission(status: Status) -> bool:
    """Whether a 403 is the authorizer's, which names the user, and not some admission rule's."""
    return "User " in status.message and " cannot " in status.message


def translate_lost_answer(call: Call, why: str, *, writes: bool) -> HoldfastError:
    """The error to raise when a request left and no whole answer came back."""
    return Unknown(f"{call}: {why}") if writes else Busy(f"{UNREACHABLE}: {call}: {why}")
