"""A good answer of DescribeInstances, read by us: of each machine only what `listing` looks at.

botocore reads everything there is to a machine, all in Python: that was half of the CPU time of an
idle tick.  It still signs, sends and pages, and it reads every refusal.  It also reads every answer
that is not as we expect: what is not understood here is left to it, as if we were not there.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from xml.parsers.expat import ExpatError, ParserCreate

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client

BEFORE_PARSE: Final = "before-parse.ec2.DescribeInstances"


class Odd(ValueError):
    """Well-formed, and yet not what EC2 writes."""


def _moment(text: str) -> datetime:
    if not text.endswith("Z"):
        raise Odd(text)
    return datetime.fromisoformat(text)


@dataclass(frozen=True, slots=True)
class Field:
    """An element that is wanted, and the name that botocore gives it."""

    name: str
    inside: "Mapping[str, Field]" = field(default_factory=dict)
    """By their names on the wire.  Empty: it is a text."""
    many: bool = False
    """It holds any number of such, each in an element of its own."""
    convert: Callable[[str], object] = str


MACHINE: Final = {
    "instanceId": Field("InstanceId"),
    "instanceState": Field("State", {"name": Field("Name")}),
    "placement": Field("Placement", {"availabilityZone": Field("AvailabilityZone")}),
    "instanceType": Field("InstanceType"),
    "instanceLifecycle": Field("InstanceLifecycle"),
    "launchTime": Field("LaunchTime", convert=_moment),
    "clientToken": Field("ClientToken"),
    "privateIpAddress": Field("PrivateIpAddress"),
    "stateReason": Field("StateReason", {"message": Field("Message")}),
    "privateDnsName": Field("PrivateDnsName"),
    "tagSet": Field("Tags", {"key": Field("Key"), "value": Field("Value")}, many=True),
}
RESERVATIONS: Final = "Reservations"
ANSWER: Final = {
    "reservationSet": Field(RESERVATIONS, {"instancesSet": Field("Instances", MACHINE, many=True)}, many=True)
}


def read_machines_quickly(client: "EC2Client") -> None:
    """From now on this client's DescribeInstances tells of a machine what `MACHINE` names, and no more."""
    client.meta.events.register(BEFORE_PARSE, take_machines)


def take_machines(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: object
) -> None:
    """Move the machines from the body to the answer; botocore parses what is left, and puts both together."""
    if response_dict["status_code"] != 200:
        return
    body: bytes = response_dict["body"]
    reading = _Reading()
    try:
        reading.parser.Parse(body, True)
    except (ExpatError, ValueError):
        return
    if reading.ends:
        response_dict["body"] = body[: reading.begins] + body[reading.ends :]
        customized_response_dict[RESERVATIONS] = reading.answers[0][RESERVATIONS]


class _Reading:
    """Goes down into what is wanted and passes by everything else.

    No tree is built: the hundred thousand nodes of a thousand machines would set off the collector of
    cyclic garbage again and again, which costs more than the parsing.
    """

    def __init__(self) -> None:
        self.answers: list[dict[str, Any]] = []
        self.begins = self.ends = 0
        """Where in the body the reservations are: from the first one to the end of the last."""
        self._open: list[tuple[Any, Mapping[str, Field]]] = [(self.answers, ANSWER)]
        """From the outermost inwards: what is filled, and what is wanted in it."""
        self._text: tuple[Field, list[str]] | None = None
        """The text that is open, and as much of it as was read."""
        self._passing = 0
        """How deep in an element that is not wanted."""
        self.parser = ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._begun
        self.parser.EndElementHandler = self._ended
        self.parser.StartDoctypeDeclHandler = self._declared

    def _begun(self, tag: str, _attributes: object) -> None:
        if self._passing:
            self._passing += 1
            return
        if self._text is not None:
            raise Odd(f"<{tag}> within a text")
        into, wanted = self._open[-1]
        if type(into) is list:
            if len(self._open) == 3 and not into:
                self.begins = self.parser.CurrentByteIndex
            into.append({})
            self._open.append((into[-1], wanted))
        elif (found := wanted.get(tag)) is None:
            self._passing = 1
        elif found.name in into:
            raise Odd(f"{found.name} comes twice")
        elif found.inside:
            into[found.name] = [] if found.many else {}
            self._open.append((into[found.name], found.inside))
        else:
            self._text = (found, [])
            self.parser.CharacterDataHandler = self._text[1].append

    def _ended(self, _tag: str) -> None:
        if self._passing:
            self._passing -= 1
            return
        if self._text is not None:
            self.parser.CharacterDataHandler = None
            found, pieces = self._text
            into, _ = self._open[-1]
            into[found.name], self._text = found.convert("".join(pieces)), None
            return
        ended, _ = self._open.pop()
        if len(self._open) == 2 and ended:
            self.ends = self.parser.CurrentByteIndex

    def _declared(self, *_: object) -> None:
        raise Odd("a document type")
