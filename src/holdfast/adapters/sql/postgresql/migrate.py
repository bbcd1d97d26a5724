"""Brings the schema up to date: all migrations in one transaction, under a lock of the whole database."""

import time
from typing import Final

from holdfast.adapters.sql.adopt import adopt, find, to_set_aside
from holdfast.adapters.sql.connection import Begin, Connection, Dialect
from holdfast.adapters.sql.migrations import migrations
from holdfast.adapters.sql.numbers import refuse_newer

LOCK: Final = "SELECT pg_advisory_xact_lock(7243392)"
TABLE: Final = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    number integer PRIMARY KEY, name text NOT NULL, applied_s double precision NOT NULL
)"""
NEWEST: Final = "SELECT coalesce(max(number), 0) FROM schema_migrations"
NOTE: Final = """
INSERT INTO schema_migrations
VALUES (%(number)s, %(name)s, extract(epoch FROM clock_timestamp()))"""


def migrate(session: Connection, dialect: Dialect) -> None:
    known = migrations("postgresql")
    session.begin(Begin.WRITE)
    try:
        session.run(LOCK)
        session.run(TABLE)
        ((newest,),) = session.run(NEWEST).rows
        refuse_newer(dialect.where, newest, known[-1].number)
        found = None
        if newest == 0 and (found := find(session, dialect, time.time())) is not None:
            session.run("CREATE SCHEMA seed_003")  # its indexes go along, and leave their names free
            for table in to_set_aside(session, dialect):
                session.run(f"ALTER TABLE {table} SET SCHEMA seed_003")
        for migration in known[newest:]:
            session.run(migration.sql)
            session.run(NOTE, {"number": migration.number, "name": migration.name})
        if found:
            adopt(session, dialect, found, time.time())
    except BaseException:
        session.rollback()
        raise
    session.commit()
