"""Brings the schema up to date, under a lock of the whole server.

A change of the schema commits by itself here, so an interrupted migration is begun again: each statement may
run twice.
"""

import time
from collections.abc import Iterator
from typing import Final

from holdfast.adapters.sql.adopt import ASIDE, adopt, find, to_set_aside
from holdfast.adapters.sql.connection import Begin, Connection, Dialect, Failure, Trouble
from holdfast.adapters.sql.migrations import migrations
from holdfast.adapters.sql.numbers import refuse_newer

WAIT_S: Final = 60
LOCK: Final = "SELECT GET_LOCK(CONCAT('holdfast-migrate-', DATABASE()), 1)"
UNLOCK: Final = "SELECT RELEASE_LOCK(CONCAT('holdfast-migrate-', DATABASE()))"
TABLE: Final = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    number integer PRIMARY KEY, name varchar(128) NOT NULL, applied_s double NOT NULL
) ENGINE = InnoDB"""
NEWEST: Final = "SELECT coalesce(max(number), 0) FROM schema_migrations"
NOTE: Final = "INSERT INTO schema_migrations VALUES (%(number)s, %(name)s, UNIX_TIMESTAMP(NOW(6)))"


def migrate(session: Connection, dialect: Dialect) -> None:
    if not any(session.run(LOCK).rows[0][0] for _ in range(WAIT_S)):
        raise Trouble(Failure.COLLIDED, f"another process has been migrating it for {WAIT_S} s")
    try:
        _migrate(session, dialect)
    finally:
        session.run(UNLOCK)


def _migrate(session: Connection, dialect: Dialect) -> None:
    known = migrations("mysql")
    session.run(TABLE)
    ((newest,),) = session.run(NEWEST).rows
    refuse_newer(dialect.where, newest, known[-1].number)
    found = None
    if newest == 0 and (found := find(session, dialect, time.time())) is not None:
        tables = [f"{table} TO {ASIDE}{table}" for table in to_set_aside(session, dialect)]
        if tables:
            session.run(f"RENAME TABLE {', '.join(tables)}")  # all at once, or none
    for migration in known[newest:]:
        for statement in statements(migration.sql):
            session.run(statement)
        session.begin(Begin.WRITE)
        if migration.number == 1 and found:
            adopt(session, dialect, found, time.time())
        session.run(NOTE, {"number": migration.number, "name": migration.name})
        session.commit()


def statements(script: str) -> Iterator[str]:
    """One after the other: each ends with a semicolon before an empty line, or before the end."""
    for text in script.split(";\n\n"):
        if text.strip():
            yield text.strip().removesuffix(";")
