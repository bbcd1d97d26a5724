"""What AWS tells us, as notices: EventBridge events, alone or in batches from a queue.

Whatever arrives is answered with notices, problems, or neither.  A problem names the field, the
value and what was expected; it is never an exception, because no retry mends a message.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from holdfast.cloud import ALIVE, Notice, NoticeKind, State

INTERRUPTION: Final = "EC2 Spot Instance Interruption Warning"
REBALANCE: Final = "EC2 Instance Rebalance Recommendation"
STATE_CHANGE: Final = "EC2 Instance State-change Notification"
SCHEDULED: Final = "Scheduled Event"
SCHEDULERS: Final = frozenset({"aws.events", "aws.scheduler"})
QUEUE: Final = "aws:sqs"

WARNING_S: Final = 120
"""How long after a warning the machine is taken back."""
SHOWN_MAX: Final = 80
INSTANCE_ID: Final = re.compile(r"i-[0-9A-Za-z-]{1,40}")


@dataclass(frozen=True, slots=True)
class Parsed:
    """What an event means."""

    notices: tuple[Notice, ...] = ()
    """One a key, the earliest of its copies."""
    problems: tuple[str, ...] = ()
    """What could not be understood, and never will be."""
    scheduled: bool = False
    """It is time to look around."""
    batch: bool = False
    """It came from a queue, which wants to know which messages to bring again."""
    message_ids: tuple[str, ...] = ()
    """The messages of the batch that brought a notice."""


class _Misfit(Exception):
    """The event is not what it should be; the message says in what way."""


def notices_of(event: object) -> Parsed:
    """What the event, or each event of a batch, says.  Pure; never raises."""
    if isinstance(event, Mapping) and "Records" in event:
        return _batch(event["Records"])
    try:
        return _single(event)
    except _Misfit as misfit:
        return Parsed(problems=(str(misfit),))


def _single(event: object) -> Parsed:
    if not isinstance(event, Mapping):
        raise _Misfit(f"the event is {_shown(event)}, not an object")
    source, kind = _text(event, "source"), _text(event, "detail-type")
    if source in SCHEDULERS and kind == SCHEDULED:
        return Parsed(scheduled=True)
    read = READERS.get(kind)
    if read is None:
        raise _Misfit(f"detail-type is {_shown(kind)}, which is none of {', '.join([SCHEDULED, *READERS])}")
    if source != "aws.ec2":
        raise _Misfit(f"source is {_shown(source)}, but only 'aws.ec2' speaks of instances")
    detail = event.get("detail")
    if not isinstance(detail, Mapping):
        raise _Misfit(f"detail is {_shown(detail)}, not an object")
    notice = read(_instance_id(detail), _time_s(event), detail)
    return Parsed((notice,) if notice else ())


def _interruption(instance_id: str, at_s: int, detail: Mapping[str, object]) -> Notice:
    return Notice(instance_id, NoticeKind.INTERRUPTION, at_s, at_s + WARNING_S)


def _rebalance(instance_id: str, at_s: int, detail: Mapping[str, object]) -> Notice:
    return Notice(instance_id, NoticeKind.REBALANCE, at_s)


def _state_change(instance_id: str, at_s: int, detail: Mapping[str, object]) -> Notice | None:
    said = _text(detail, "state", "detail.")
    try:
        state = State(said)
    except ValueError:
        raise _Misfit(f"detail.state is {_shown(said)}, which is none of {', '.join(State)}") from None
    return None if state in ALIVE else Notice(instance_id, NoticeKind.GONE, at_s)


READERS: Final[Mapping[str, Callable[[str, int, Mapping[str, object]], Notice | None]]] = {
    INTERRUPTION: _interruption,
    REBALANCE: _rebalance,
    STATE_CHANGE: _state_change,
}


def _batch(records: object) -> Parsed:
    """Each message for itself: a bad one costs the others nothing."""
    if not isinstance(records, list):
        return Parsed(problems=(f"Records is {_shown(records)}, not a list",), batch=True)
    notices: list[Notice] = []
    problems: list[str] = []
    message_ids: list[str] = []
    scheduled = False
    for n, record in enumerate(records):
        message_id = record.get("messageId") if isinstance(record, Mapping) else None
        try:
            said = _single(_body(record))
        except _Misfit as misfit:
            problems.append(f"message {_shown(message_id) if message_id else n}: {misfit}")
            continue
        notices += said.notices
        scheduled = scheduled or said.scheduled
        if said.notices and isinstance(message_id, str) and message_id:
            message_ids.append(message_id)
    return Parsed(_earliest(notices), tuple(problems), scheduled, batch=True, message_ids=tuple(message_ids))


def _body(record: object) -> object:
    if not isinstance(record, Mapping):
        raise _Misfit(f"it is {_shown(record)}, not an object")
    if record.get("eventSource") != QUEUE:
        raise _Misfit(f"eventSource is {_shown(record.get('eventSource'))}, not {QUEUE!r}")
    try:
        return json.loads(_text(record, "body"))
    except (ValueError, RecursionError) as error:
        raise _Misfit(f"body is {_shown(record['body'])}, not JSON: {error}") from None


def _earliest(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    by_key: dict[str, Notice] = {}
    for notice in notices:
        by_key[notice.key] = min(notice, by_key.get(notice.key, notice))
    return tuple(by_key.values())


def _instance_id(detail: Mapping[str, object]) -> str:
    said = _text(detail, "instance-id", "detail.")
    if not INSTANCE_ID.fullmatch(said):
        raise _Misfit(f"detail.instance-id is {_shown(said)}, which is no instance id")
    return said


def _time_s(event: Mapping[str, object]) -> int:
    said = _text(event, "time")
    try:
        when = datetime.fromisoformat(said)
    except ValueError:
        raise _Misfit(f"time is {_shown(said)}, not like 2026-01-31T12:00:00Z") from None
    if when.tzinfo is None:
        raise _Misfit(f"time is {_shown(said)}, without a time zone")
    return int(when.timestamp())


def _text(said: Mapping[str, object], field: str, within: str = "") -> str:
    value = said.get(field)
    if field not in said:
        raise _Misfit(f"{within}{field} is missing")
    if not isinstance(value, str) or not value:
        raise _Misfit(f"{within}{field} is {_shown(value)}, not a text")
    return value


def _shown(value: object) -> str:
    """Enough of it to recognise it by."""
    shown = repr(value)
    return shown if len(shown) <= SHOWN_MAX else f"{shown[:SHOWN_MAX]}…"
