"""MariaDB and PostgreSQL as parts: up in seconds, durable through a kill, gone when they are stopped."""

import socket
from collections.abc import Callable
from typing import Any

import psycopg
import pymysql
import pytest

from tests.real.presence import present
from tests.real.traces import processes_naming
from tools.parts.catalog.mariadb import PART as MARIADB
from tools.parts.catalog.mariadb import Mariadb
from tools.parts.catalog.postgresql import PART as POSTGRESQL
from tools.parts.catalog.postgresql import Postgresql

Started = Mariadb | Postgresql


def asked(started: Started, *statements: str) -> Any:
    """The rows of the last statement; each is committed by itself."""
    if isinstance(started, Postgresql):
        with psycopg.connect(started.url(), autocommit=True) as session:
            return [session.execute(each.encode()) for each in statements][-1].fetchall()
    with (
        pymysql.connect(
            host="127.0.0.1", port=started.port, user="root", database="mysql", autocommit=True
        ) as opened,
        opened.cursor() as cursor,
    ):
        for each in statements:
            cursor.execute(each)
        return list(cursor.fetchall())


STARTS: dict[str, Callable[[], Started]] = {
    "mariadb": lambda: present(MARIADB).start(),
    "postgresql": lambda: present(POSTGRESQL).start(),
}


@pytest.mark.parametrize("name", STARTS)
def test_what_was_committed_is_there_after_a_kill_and_nothing_is_left_in_the_end(name: str) -> None:
    with STARTS[name]() as started:
        folder = started.running.folder
        asked(started, "CREATE TABLE kept (n INTEGER)", "INSERT INTO kept VALUES (7)", "SELECT n FROM kept")
        started.kill()
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", started.port), timeout=5).close()
        started.start_again()

        assert asked(started, "SELECT n FROM kept") == [(7,)]

    assert not folder.exists()
    assert processes_naming(str(folder)) == []


def test_settings_are_those_that_were_asked_for() -> None:
    with (
        present(POSTGRESQL).start({"synchronous_commit": "off"}) as postgresql,
        present(MARIADB).start({"innodb-flush-log-at-trx-commit": "2"}) as mariadb,
    ):
        assert asked(postgresql, "SHOW synchronous_commit") == [("off",)]
        assert asked(mariadb, "SELECT @@innodb_flush_log_at_trx_commit") == [(2,)]


def test_each_is_the_pinned_version() -> None:
    with STARTS["postgresql"]() as postgresql, STARTS["mariadb"]() as mariadb:
        assert "PostgreSQL 18.6 " in asked(postgresql, "SELECT version()")[0][0]
        assert asked(mariadb, "SELECT version()")[0][0].startswith("10.11.19-MariaDB")
