"""One SQLite file: transactions whose failures become outcomes, and the event log.

WAL, so that readers never wait for a writer; full synchronisation, so that what was
acknowledged survives the machine as well as the process.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from holdfast.adapters.sql.migrations import migrations
from holdfast.adapters.sql.sqlite.migrate import migrate, refuse_newer
from holdfast.kernel import Busy, Conflict, Corrupt, Event, Logged, Unknown, Write
from holdfast.kernel.event import EVENTS_KEPT_S

BUSY_TIMEOUT_S = 5.0
OPEN_AGAIN_S = 0.02
TRANSIENT = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


class Database:
    """A connection that several threads may share, one transaction at a time."""

    def __init__(self, path: str, *, now_s: Callable[[], float] = time.time) -> None:
        """`now_s` is the database's clock: leases are judged by it and by no other.

        Makes the file, or brings its schema up to date.  Raises Invalid for a file of a newer release
        and Corrupt for one that is no database; both stay as they are.
        """
        self.path = path
        self._lock = threading.Lock()
        with _translate_errors(path):
            self._db = sqlite3.connect(
                path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
        self._db.create_function("now_s", 0, now_s)
        try:
            self._open(give_up_s=time.monotonic() + BUSY_TIMEOUT_S)
        except BaseException:
            self._db.close()
            raise

    def _open(self, give_up_s: float) -> None:
        """SQLite does not always wait by itself while another process makes the file, or closes it last."""
        while True:
            try:
                return self._prepare()
            except Busy as busy:
                code = getattr(busy.__cause__, "sqlite_errorcode", 0) & 0xFF
                if code not in TRANSIENT or time.monotonic() > give_up_s:
                    raise
                time.sleep(OPEN_AGAIN_S)

    def _prepare(self) -> None:
        known = migrations()
        refuse_newer(self, known)
        with _translate_errors(self.path):
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
        migrate(self, known)

    def close(self) -> None:
        self._db.close()

    def rows(self, sql: str, *values: Any) -> list[Any]:
        with self._lock, _translate_errors(self.path):
            return self._db.execute(sql, values).fetchall()

    @contextmanager
    def transaction(self, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """Commit if the block ends well, else roll back.

        Raises Busy if nothing was written and no other write won, and Unknown if the commit
        itself gave no clear answer.
        """
        with self._lock, _translate_errors(self.path):
            self._db.execute(f"BEGIN {kind}")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            try:
                self._db.execute("COMMIT")
            except sqlite3.OperationalError as error:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                if error.sqlite_errorcode & 0xFF in TRANSIENT:
                    raise
                raise Unknown(f"{self.path}: commit: {error}") from error

    def tell(
        self,
        db: sqlite3.Connection,
        collection: str,
        subject: str,
        version: int,
        commit_id: str,
        write: Write[Any],
    ) -> None:
        """Add the events of a write, inside its transaction; now and then drop those that are too old."""
        if version % FORGET_EVERY == 0:
            newest_s = max(event.at_s for event in write.events)
            db.execute(FORGET, (collection, subject, FORGET_MAX, newest_s - EVENTS_KEPT_S))
        db.executemany(
            "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (collection, subject, version, n, commit_id, *_columns(event))
                for n, event in enumerate(write.events)
            ],
        )

    def commit_id_at(self, collection: str, subject: str, version: int) -> str | None:
        found = self.rows(COMMIT_ID_AT, collection, subject, version)
        return str(found[0][0]) if found else None

    def check_version(
        self,
        db: sqlite3.Connection,
        collection: str,
        subject: str,
        *,
        stored: int,
        expected: int,
        commit_id: str,
    ) -> bool:
        """Whether the write may go on; False if it is our own, and stands already.

        Raises Conflict if another's stands there.
        """
        if stored == expected:
            return True
        ours = db.execute(COMMIT_ID_AT, (collection, subject, expected + 1)).fetchone()
        if ours is not None and ours[0] == commit_id:
            return False
        raise Conflict(f"{collection} {subject}: version {stored} is stored, not {expected}")

    def is_told(self, db: sqlite3.Connection, collection: str, subject: str, version: int) -> bool:
        """Whether the log holds that version already, inside a transaction."""
        return db.execute(COMMIT_ID_AT, (collection, subject, version)).fetchone() is not None

    def last_told(self, db: sqlite3.Connection, collection: str, subject: str) -> int:
        """The newest version in the log: where a record that was lost goes on."""
        sql = "SELECT max(version) FROM events WHERE collection = ? AND subject = ?"
        return int(db.execute(sql, (collection, subject)).fetchone()[0] or 0)

    def events(self, collection: str, subject: str, after: int) -> Sequence[Logged]:
        found = self.rows(
            "SELECT version, n, commit_id, kind, at_s, about, reason, numbers, code FROM events"
            " WHERE collection = ? AND subject = ? AND version > ? ORDER BY version, n",
            collection, subject, after,
        )  # fmt: skip
        return [
            Logged(
                subject, version, n, commit_id, Event(kind, at_s, about, reason, json.loads(numbers), code)
            )
            for version, n, commit_id, kind, at_s, about, reason, numbers, code in found
        ]


FORGET = """
DELETE FROM events WHERE (collection, subject, version, n) IN (
    SELECT ?1, ?2, version, n FROM (
        SELECT version, n, at_s FROM events WHERE collection = ?1 AND subject = ?2
        ORDER BY version, n LIMIT ?3
    ) WHERE at_s < ?4
)"""
FORGET_EVERY, FORGET_MAX = 50, 1_000
"""Many more than come in so many commits: the log gets shorter until nothing in it is too old."""

COMMIT_ID_AT = "SELECT commit_id FROM events WHERE collection = ? AND subject = ? AND version = ? AND n = 0"


def _columns(event: Event) -> tuple[object, ...]:
    numbers = json.dumps(dict(event.numbers), allow_nan=False)
    return event.at_s, event.kind, event.about, event.reason, numbers, event.code


@contextmanager
def _translate_errors(path: str) -> Iterator[None]:
    """What SQLite raises before a commit means that nothing was written."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise Busy(f"{path}: {error}") from error
    except sqlite3.DatabaseError as error:
        raise Corrupt(table=path, problem=f"{error}. Nothing was changed") from error
