"""MariaDB and MySQL: sessions set up by us, whatever the server's defaults are."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pymysql
from pymysql.constants import CLIENT
from pymysql.converters import conversions

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
from holdfast.adapters.sql.mysql.migrate import migrate
from holdfast.adapters.sql.mysql.rows import Rows, literals, rows_of, written
from holdfast.adapters.sql.statements import percent_style
from holdfast.adapters.sql.url import DatabaseUrl

SETTINGS: Final = (
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION time_zone = '+00:00'",
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'",
    f"SET SESSION innodb_lock_wait_timeout = {int(LIMIT_S)}",
    f"SET SESSION max_statement_time = {LIMIT_S}",
    f"SET SESSION max_execution_time = {int(LIMIT_S * 1000)}",
    f"SET SESSION idle_transaction_timeout = {int(LIMIT_S)}",
)
UNKNOWN_VARIABLE: Final = 1193
"""MariaDB knows the one limit of a statement, MySQL the other.  MySQL has none for a session that hangs
inside a transaction: there its locks end with its connection."""
COLLIDED: Final = frozenset({1205, 1213, 1040, 1203, 1317, 1969, 3024, 3572, 1226})
DUPLICATE: Final = 1062
LOST: Final = frozenset({2003, 2006, 2013, 2014, 2055, 1053, 1927, 0})
KEYS: Final = ("client_id", "id", "agent_id", "session")
BEATS: Final = (*KEYS, "epoch", "watchdog", "report")
ENCODERS: Final[dict[int | type[Any], Any]] = {**conversions, Rows: written}


class MysqlDialect:
    name = "mysql"
    macros: Mapping[str, str] = {
        "now": "(UNIX_TIMESTAMP(NOW(6)) + 0E0)",
        "lock": "FOR UPDATE",
        "true": "true",
        "schema": "DATABASE()",
        "false": "false",
        "time": "FROM_UNIXTIME(NULLIF(?, 0))",
        "instance_columns": (
            "client_id, agent_id, id, instance_status, is_primary, version, instance_type, region, az,"
            " UNIX_TIMESTAMP(demoted_at) + 0E0, UNIX_TIMESTAMP(terminated_at) + 0E0"
        ),
    }

    def __init__(self, url: DatabaseUrl) -> None:
        self.where = url.shown
        self._url = url

    def prepare(self) -> None:
        session = self.connect()
        try:
            migrate(session, self)
        finally:
            session.close()

    def connect(self) -> Connection:
        options = dict(self._url.options)
        try:
            db = pymysql.connect(
                host=self._url.host,
                port=self._url.port,
                user=self._url.user,
                password=self._url.password,
                database=self._url.name,
                charset="utf8mb4",
                collation="utf8mb4_bin",
                autocommit=True,
                client_flag=CLIENT.FOUND_ROWS,
                conv=ENCODERS,
                connect_timeout=int(LIMIT_S),
                read_timeout=ANSWER_LIMIT_S,
                write_timeout=ANSWER_LIMIT_S,
                ssl_ca=options.get("ssl_ca"),
            )
        except (pymysql.Error, OSError) as error:
            raise Trouble(Failure.UNREACHABLE, str(error.args[-1] if error.args else error)) from error
        session = MysqlConnection(db)
        for setting in SETTINGS:
            session.set_up(setting)
        return session

    def placeholders(self, sql: str) -> str:
        return percent_style(sql)

    def beats(self, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        columns = literals(rows)
        return {"keys": rows_of(KEYS, columns), "beats": rows_of(BEATS, columns)}

    def weaknesses(self, session: Connection) -> Sequence[str]:
        ((flush, binlog, sync),) = session.run(
            "SELECT @@innodb_flush_log_at_trx_commit, @@log_bin, @@sync_binlog"
        ).rows
        found = [] if flush == 1 else [f"innodb_flush_log_at_trx_commit is {flush} (set it to 1)"]
        if binlog and sync != 1:
            found.append(f"sync_binlog is {sync} (set it to 1)")
        return found


class MysqlConnection:
    def __init__(self, db: "pymysql.Connection[Any]") -> None:
        self._db = db

    def set_up(self, setting: str) -> None:
        try:
            self.run(setting)
        except Trouble as trouble:
            if getattr(trouble.__cause__, "args", (0,))[0] != UNKNOWN_VARIABLE:
                raise

    def run(self, sql: str, values: Mapping[str, Any] = NO_VALUES) -> Result:
        try:
            with self._db.cursor() as cursor:
                count = cursor.execute(sql, values or None)
                return Result(cursor.fetchall() if cursor.description else (), count)
        except (pymysql.Error, OSError) as error:
            raise _trouble(error) from error

    def names(self, sql: str) -> Sequence[str]:
        with self._db.cursor() as cursor:
            cursor.execute(sql)
            return [column[0] for column in cursor.description or ()]

    def begin(self, kind: Begin) -> None:
        if kind is Begin.READ:
            self.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            self.run("START TRANSACTION READ ONLY")
        else:
            self.run("START TRANSACTION")

    def commit(self) -> None:
        try:
            self.run("COMMIT")
        except Trouble as trouble:
            known = trouble.failure in (Failure.COLLIDED, Failure.DUPLICATE)
            raise trouble if known else Trouble(Failure.LOST, str(trouble)) from trouble

    def rollback(self) -> None:
        if not self._db.open:
            raise Trouble(Failure.LOST, "the connection is closed")
        self.run("ROLLBACK")

    def close(self) -> None:
        if self._db.open:
            self._db.close()


def _trouble(error: Exception) -> Trouble:
    code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    said = str(error.args[-1]) if error.args else repr(error)
    state = getattr(error, "sqlstate", None)
    if state in OWN:
        return Trouble(OWN[state], said)
    if code == DUPLICATE:
        return Trouble(Failure.DUPLICATE, said)
    if code in COLLIDED:
        return Trouble(Failure.COLLIDED, said)
    if code in LOST or isinstance(error, pymysql.InterfaceError | OSError):
        return Trouble(Failure.LOST, said)
    return Trouble(Failure.WRONG, said)
