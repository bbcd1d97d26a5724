"""PostgreSQL: sessions set up by us, whatever the server's defaults are."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import psycopg
from psycopg import errors
from psycopg.conninfo import make_conninfo
from psycopg.types.string import TextLoader

from holdfast.adapters.sql.connection import (
    ANSWER_LIMIT_S,
    LIMIT_S,
    NO_VALUES,
    OWN,
    Begin,
    Connection,
    Failure,
    Result,
    Trouble,
)
from holdfast.adapters.sql.postgresql.migrate import migrate
from holdfast.adapters.sql.statements import percent_style
from holdfast.adapters.sql.url import DatabaseUrl

LIMIT_MS: Final = int(LIMIT_S * 1000)
SETTINGS: Final = {
    "default_transaction_isolation": r"read\ committed",
    "statement_timeout": str(LIMIT_MS),
    "lock_timeout": str(LIMIT_MS),
    "idle_in_transaction_session_timeout": str(LIMIT_MS),
    "timezone": "UTC",
}
BEGIN: Final = {
    Begin.WRITE: "BEGIN ISOLATION LEVEL READ COMMITTED",
    Begin.READ: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
}
ARRAY: Final = re.compile(r"%\((\w+)\)s::(?=\w+\[\])")
COLLIDED: Final = frozenset({"40001", "40P01", "55P03", "57014", "53300", "57P03", "25P03", "25P02"})
WEAK: Final = {
    "fsync": ("on",),
    "full_page_writes": ("on",),
    "synchronous_commit": ("on", "local", "remote_write", "remote_apply"),
}


class PostgresqlDialect:
    name = "postgresql"
    macros: Mapping[str, str] = {
        "now": "extract(epoch FROM clock_timestamp())::float8",
        "lock": "FOR UPDATE",
        "true": "true",
        "schema": "current_schema()",
        "false": "false",
        "time": "to_timestamp(nullif(?, 0))",
        "instance_columns": (
            "client_id, agent_id, id, instance_status, is_primary, version, instance_type, region, az,"
            " extract(epoch FROM demoted_at)::float8, extract(epoch FROM terminated_at)::float8"
        ),
    }

    def __init__(self, url: DatabaseUrl) -> None:
        self.where = url.shown
        self._conninfo = make_conninfo(
            host=url.host,
            port=url.port,
            user=url.user,
            password=url.password or None,
            dbname=url.name,
            connect_timeout=int(LIMIT_S),
            tcp_user_timeout=int(ANSWER_LIMIT_S * 1000),
            client_encoding="UTF8",
            application_name="holdfast",
            options=" ".join(f"-c {name}={value}" for name, value in SETTINGS.items()),
            **dict(url.options),
        )

    def prepare(self) -> None:
        session = self.connect()
        try:
            migrate(session, self)
        finally:
            session.close()

    def connect(self) -> Connection:
        try:
            db = _Limited.connect(self._conninfo, autocommit=True)
        except psycopg.Error as error:
            raise Trouble(Failure.UNREACHABLE, _said(error)) from error
        db.adapters.register_loader("json", TextLoader)  # a body is read by its codec, on every database
        return PostgresqlConnection(db)

    def placeholders(self, sql: str) -> str:
        """Arrays are sent as they are: as text, the driver would look for each character to escape."""
        return ARRAY.sub(r"%(\1)b::", percent_style(sql))

    def beats(self, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return {f"{name}s": values for name, values in columns.items()}

    def weaknesses(self, session: Connection) -> Sequence[str]:
        found = {name: str(session.run(f"SHOW {name}").rows[0][0]) for name in WEAK}
        return [
            f"{name} is {found[name]} (set it to {safe[0]})"
            for name, safe in WEAK.items()
            if found[name] not in safe
        ]


class _Limited(psycopg.Connection[tuple[Any, ...]]):
    """A server that has fallen silent is given up: libpq itself would wait for ever."""

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        try:
            return super().wait(gen, interval=interval, timeout=timeout or ANSWER_LIMIT_S)
        except errors._WaitTimeout as late:
            self.pgconn.finish()
            raise psycopg.OperationalError(f"no answer within {ANSWER_LIMIT_S:.0f} s") from late


class PostgresqlConnection:
    def __init__(self, db: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._db = db

    def run(self, sql: str, values: Mapping[str, Any] = NO_VALUES) -> Result:
        try:
            cursor = self._db.execute(sql.encode(), values or None)
            rows = cursor.fetchall() if cursor.description else []
            return Result(rows, cursor.rowcount)
        except psycopg.Error as error:
            raise self._trouble(error) from error

    def names(self, sql: str) -> Sequence[str]:
        return [column.name for column in self._db.execute(sql.encode()).description or ()]

    def begin(self, kind: Begin) -> None:
        self.run(BEGIN[kind])

    def commit(self) -> None:
        """COMMIT of a transaction that had failed is answered with ROLLBACK, and raises nothing by itself."""
        try:
            cursor = self._db.execute(b"COMMIT")
        except psycopg.Error as error:
            trouble = self._trouble(error)
            known = trouble.failure in (Failure.COLLIDED, Failure.DUPLICATE) and not self._db.closed
            raise trouble if known else Trouble(Failure.LOST, str(trouble)) from error
        if cursor.statusmessage != "COMMIT":
            raise Trouble(Failure.COLLIDED, "the transaction had failed before, and was rolled back")

    def rollback(self) -> None:
        if self._db.closed or self._db.broken:
            raise Trouble(Failure.LOST, "the connection is closed")
        self.run("ROLLBACK")

    def close(self) -> None:
        self._db.close()

    def _trouble(self, error: psycopg.Error) -> Trouble:
        state = error.sqlstate or ""
        if state in OWN:
            return Trouble(OWN[state], _said(error))
        if state == "23505":
            return Trouble(Failure.DUPLICATE, _said(error))
        if state in COLLIDED:
            return Trouble(Failure.COLLIDED, _said(error))
        if self._db.closed or self._db.broken or state.startswith(("08", "57P")) or not state:
            return Trouble(Failure.LOST, _said(error))
        return Trouble(Failure.WRONG, _said(error))


def _said(error: psycopg.Error) -> str:
    """One line, without the statement that it happened in."""
    return (error.diag.message_primary or str(error)).strip().splitlines()[0] if str(error) else repr(error)
