"""The log of a group, in `system_events`: written in the transaction of the record, and never again."""

import json
from collections.abc import Sequence
from typing import Any, Final

from holdfast.adapters.sql.database import SqlDatabase, Transaction
from holdfast.kernel import Conflict, Event, Logged, Severity, Write
from holdfast.kernel.event import EVENTS_KEPT_S

FORGET_EVERY: Final = 50
"""So many commits pass before events that are too old are dropped."""
AS_TEXT: Final = json.JSONEncoder(allow_nan=False).encode


def last_told(tx: Transaction, subject: str) -> int:
    """The newest version in the log: where a record that was lost goes on."""
    ((version,),) = tx.rows("last_told", id=subject)
    return int(version)


def may_write(tx: Transaction, subject: str, *, stored: int, expected: int, commit_id: str) -> bool:
    """False if this very commit stands already; raises Conflict if another's does."""
    if stored == expected:
        return True
    ours = tx.rows("commit_id_at", id=subject, version=expected + 1)
    if ours and ours[0][0] == commit_id:
        return False
    raise Conflict(f"{subject}: version {stored} is stored, not {expected}")


def tell(tx: Transaction, subject: str, version: int, commit_id: str, write: Write[Any]) -> None:
    """Add the events of a write; now and then drop those that are too old."""
    for n, event in enumerate(write.events):
        tx.run(
            "tell",
            id=subject,
            version=version,
            n=n,
            commit_id=commit_id,
            at_s=event.at_s,
            kind=str(event.kind),
            severity=str(getattr(event.kind, "severity", Severity.INFO)),
            about=_plain(event.about),
            reason=_plain(event.reason),
            numbers=AS_TEXT(dict(event.numbers)),
            code=event.code,
        )
    if version % FORGET_EVERY == 0:
        before_s = max(event.at_s for event in write.events) - EVENTS_KEPT_S
        tx.run("forget_events", id=subject, version=version, before_s=before_s)


def events(database: SqlDatabase, subject: str, after: int) -> Sequence[Logged]:
    return [
        Logged(subject, version, n, commit_id, Event(kind, at_s, about, reason, _numbers(numbers), code))
        for version, n, commit_id, kind, at_s, about, reason, numbers, code in database.rows(
            "events", id=subject, after=after
        )
    ]


def _plain(text: str) -> str:
    """PostgreSQL stores every letter but this one."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _numbers(stored: Any) -> dict[str, float]:
    found: dict[str, float] = json.loads(stored) if isinstance(stored, str | bytes) else stored
    return found
