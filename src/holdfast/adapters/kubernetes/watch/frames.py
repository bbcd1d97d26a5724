"""What a watch sends, one JSON object a line."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import msgspec

from holdfast.adapters.kubernetes.errors import Status
from holdfast.cloud.kubernetes import Value
from holdfast.kernel import Invalid

Thing = TypeVar("Thing")

DELETED: Final = "DELETED"
CHANGES: Final = frozenset({"ADDED", "MODIFIED", DELETED})
INITIAL_END: Final = "k8s.io/initial-events-end"
"""Annotation of the bookmark that ends an initial list."""


@dataclass(frozen=True, slots=True)
class Changed(Generic[Thing]):
    thing: Thing
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Everything up to this version has been sent."""

    resource_version: str
    ends_initial: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """The server ends the watch, and says why."""

    code: int
    message: str = ""


Frame = Changed[Thing] | Bookmark | Failed


class Event(Value, Generic[Thing], frozen=True):
    type: str
    object: Thing


class _Mark(Value, frozen=True):
    resource_version: str = ""
    annotations: dict[str, str] = msgspec.field(default_factory=dict)


class _Marked(Value, frozen=True):
    metadata: _Mark = _Mark()


class _Coded(Status, frozen=True):
    code: int = 0


_any = msgspec.json.Decoder(Event[Any])


def decode(line: bytes, decoder: msgspec.json.Decoder[Event[Thing]]) -> Frame[Thing]:
    """Raises Invalid for what no API server sends."""
    try:
        try:
            event = decoder.decode(line)
        except msgspec.ValidationError:
            return _other(line)  # no object of this kind: it is rare
        if event.type in CHANGES:
            return Changed(event.object, event.type == DELETED)
        return _other(line)
    except msgspec.DecodeError as error:
        raise Invalid(
            f"a watch sent what is not Kubernetes' own form: {error} (check the server's address)"
        ) from error


def _other(line: bytes) -> Bookmark | Failed:
    event = _any.decode(line)
    if event.type == "BOOKMARK":
        mark = msgspec.convert(event.object, _Marked).metadata
        return Bookmark(mark.resource_version, mark.annotations.get(INITIAL_END) == "true")
    if event.type == "ERROR":
        status = msgspec.convert(event.object, _Coded)
        return Failed(status.code, status.message or status.reason)
    raise msgspec.DecodeError(f"an event of type {event.type!r}")


def lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines of what comes in pieces.  A line that breaks off is dropped: it comes again."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from filter(None, whole)
