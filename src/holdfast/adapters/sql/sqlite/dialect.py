"""SQLite as one of the databases of failover: sessions on one file, which its migrations have prepared."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, Final

import msgspec

from holdfast.adapters.sql.connection import LIMIT_S, NO_VALUES, Begin, Connection, Failure, Result, Trouble
from holdfast.adapters.sql.sqlite.clock import boot_id, set_clock, since_boot_s
from holdfast.adapters.sql.sqlite.database import TRANSIENT, Database

FULL: Final = 2
BEGIN: Final = {Begin.WRITE: "BEGIN IMMEDIATE", Begin.READ: "BEGIN DEFERRED"}


class SqliteDialect:
    name = "sqlite"
    macros: Mapping[str, str] = {
        "now": "clock_s()",
        "lock": "",
        "true": "1",
        "false": "0",
        "time": "datetime(nullif(?, 0), 'unixepoch')",
        "instance_columns": (
            "client_id, agent_id, id, instance_status, is_primary, version, instance_type, region, az,"
            " CAST(strftime('%s', demoted_at) AS REAL), CAST(strftime('%s', terminated_at) AS REAL)"
        ),
    }

    def __init__(self, path: str, *, now_s: Callable[[], float] | None = None) -> None:
        """`now_s` takes the place of the file's own clock: see clock.py."""
        self.where = path
        self._now_s = now_s
        self._offset_s = 0.0

    def prepare(self) -> None:
        with closing(Database(self.where)) as database:
            if self._now_s is None:
                with database.transaction() as db:
                    self._offset_s = set_clock(db, boot_id())

    def clock_s(self) -> float:
        return self._now_s() if self._now_s is not None else since_boot_s() + self._offset_s

    def connect(self) -> Connection:
        try:
            db = sqlite3.connect(self.where, timeout=LIMIT_S, isolation_level=None, check_same_thread=False)
            db.create_function("clock_s", 0, self.clock_s)
            db.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error as error:
            raise _trouble(error) from error
        return SqliteConnection(db)

    def placeholders(self, sql: str) -> str:
        return sql

    def beats(self, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        return {"beats": msgspec.json.encode(rows).decode()}

    def weaknesses(self, session: Connection) -> Sequence[str]:
        ((synchronous,),) = session.run("PRAGMA synchronous").rows
        return [] if synchronous >= FULL else [f"PRAGMA synchronous is {synchronous}, not FULL"]


class SqliteConnection:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def run(self, sql: str, values: Mapping[str, Any] = NO_VALUES) -> Result:
        try:
            cursor = self._db.execute(sql, values)
            rows = cursor.fetchall()
            return Result(rows, len(rows) if cursor.description else cursor.rowcount)
        except sqlite3.Error as error:
            raise _trouble(error) from error

    def names(self, sql: str) -> Sequence[str]:
        return [column[0] for column in self._db.execute(sql).description]

    def begin(self, kind: Begin) -> None:
        self.run(BEGIN[kind])

    def commit(self) -> None:
        """A commit that finds the file taken has written nothing; any other failure may have."""
        try:
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            failure = _trouble(error).failure
            raise Trouble(failure if failure is Failure.COLLIDED else Failure.LOST, str(error)) from error

    def rollback(self) -> None:
        if self._db.in_transaction:
            self.run("ROLLBACK")

    def close(self) -> None:
        self._db.close()


def _trouble(error: sqlite3.Error) -> Trouble:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if isinstance(error, sqlite3.IntegrityError) and "UNIQUE" in str(error):
        return Trouble(Failure.DUPLICATE, str(error))
    if code in TRANSIENT or isinstance(error, sqlite3.OperationalError):
        return Trouble(Failure.COLLIDED, str(error))
    return Trouble(Failure.WRONG, str(error))
