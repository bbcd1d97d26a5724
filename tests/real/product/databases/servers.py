"""A started MariaDB or PostgreSQL, with as many databases in it as a test wants."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pymysql
import pytest

from holdfast.adapters.sql.connection import Dialect
from holdfast.adapters.sql.opening import dialect_for
from holdfast.adapters.sql.url import parse
from tests.real.presence import present
from tools.parts.catalog.mariadb import PART as MARIADB
from tools.parts.catalog.mariadb import Mariadb
from tools.parts.catalog.postgresql import PART as POSTGRESQL
from tools.parts.catalog.postgresql import Postgresql

NAMES = ("mariadb", "postgresql")
ON_MARIADB = pytest.mark.parametrize("server", ["mariadb"], indirect=True, scope="session")
ON_POSTGRESQL = pytest.mark.parametrize("server", ["postgresql"], indirect=True, scope="session")
"""For what only one of them does."""


@dataclass(frozen=True)
class Server:
    name: str
    started: Mariadb | Postgresql

    def make(self) -> str:
        """A new database; its URL."""
        name = f"holdfast_{uuid.uuid4().hex[:8]}"
        self.run(None, f"CREATE DATABASE {name}")
        return self.started.url(name)

    def dialect(self, url: str) -> Dialect:
        return dialect_for(parse(url))

    def run(self, url: str | None, *statements: str) -> list[Any]:
        """By a connection of its own, each statement committed by itself; the rows of the last one."""
        rows: list[Any] = []
        with self.session(url) as session:
            for statement in statements:
                rows = session.run(statement)
        return rows

    @contextmanager
    def session(self, url: str | None) -> "Iterator[Session]":
        """A bare connection with the driver's and the server's own defaults, but for autocommit."""
        if self.name == "postgresql":
            with psycopg.connect(url or self.started.url(), autocommit=True) as db:
                yield Session(db)
            return
        to = parse(url or self.started.url())
        opened = pymysql.connect(host=to.host, port=to.port, user=to.user, database=to.name, autocommit=True)
        with opened as connection:
            yield Session(connection)


@dataclass(frozen=True)
class Session:
    db: Any

    def run(self, statement: str) -> list[Any]:
        cursor = self.db.cursor()
        cursor.execute(statement)
        rows = list(cursor.fetchall()) if cursor.description else []
        cursor.close()
        return rows


@contextmanager
def started(name: str, settings: dict[str, str] | None = None) -> Iterator[Server]:
    if name == "mariadb":
        with present(MARIADB).start(settings) as mariadb:
            yield Server(name, mariadb)
    else:
        with present(POSTGRESQL).start(settings) as postgresql:
            yield Server(name, postgresql)
