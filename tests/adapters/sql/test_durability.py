"""H31: a database that may lose what it has acknowledged is refused, and each weak setting is named."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.sql import database as shipped
from holdfast.adapters.sql.connection import Connection, Result
from holdfast.adapters.sql.mysql.dialect import MysqlDialect
from holdfast.adapters.sql.postgresql.dialect import PostgresqlDialect
from holdfast.adapters.sql.sqlite.dialect import SqliteDialect
from holdfast.adapters.sql.url import parse
from holdfast.kernel import Invalid
from tests.proof import prove
from tests.variants import broken

MYSQL, POSTGRESQL = parse("mysql://u@127.0.0.1/x"), parse("postgresql://u@127.0.0.1/x")


class Weak(SqliteDialect):
    def weaknesses(self, session: Connection) -> Sequence[str]:
        return ["synchronous_commit is off (set it to on)"]


class Answers:
    """A session whose server has these settings."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings

    def run(self, sql: str, values: Mapping[str, Any] | None = None) -> Result:
        if sql.startswith("SHOW "):
            return Result([(self.settings.get(sql.removeprefix("SHOW "), "on"),)], 1)
        return Result([tuple(self.settings.values())], 1)


@pytest.mark.parametrize(
    ("flush", "binlog", "sync", "said"),
    [
        (1, 0, 0, ""),
        (1, 1, 1, ""),
        (2, 0, 1, "commit is 2"),
        (0, 0, 1, "commit is 0"),
        (1, 1, 0, "sync_binlog"),
    ],
)
def test_weak_settings_of_mysql_are_named(flush: int, binlog: int, sync: int, said: str) -> None:
    session: Any = Answers(flush=flush, binlog=binlog, sync=sync)
    found = "; ".join(MysqlDialect(MYSQL).weaknesses(session))
    assert said in found
    assert bool(found) is bool(said)


@pytest.mark.parametrize("name", ["fsync", "synchronous_commit", "full_page_writes"])
def test_weak_settings_of_postgresql_are_named(name: str) -> None:
    strong: Any = Answers()
    weak: Any = Answers(**{name: "off"})
    assert PostgresqlDialect(POSTGRESQL).weaknesses(strong) == []
    assert PostgresqlDialect(POSTGRESQL).weaknesses(weak) == [f"{name} is off (set it to on)"]


def test_h31_a_server_that_starts_on_a_weak_database_is_caught(tmp_path: Path) -> None:
    careless = broken("holdfast.adapters.sql.database", {"        if weak:\n": "        if False:\n"})
    with pytest.raises(Invalid, match="--accept-weak-durability"):
        shipped.SqlDatabase(Weak(str(tmp_path / "state.db")))
    careless.SqlDatabase(Weak(str(tmp_path / "state.db"))).close()
    prove("variant", "H31: a weak database is taken for a durable one", caught_by="its own settings")
