"""The database behind a URL; its driver is imported only here, and only if it is needed."""

from pathlib import Path
from typing import Final

from holdfast.adapters.sql.connection import Dialect, Trouble
from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.migrations import migrations
from holdfast.adapters.sql.numbers import refuse_newer
from holdfast.adapters.sql.outcome import before_commit
from holdfast.adapters.sql.url import DatabaseUrl, parse
from holdfast.kernel import Invalid

NAMED: Final = "SELECT 1 FROM information_schema.tables WHERE table_name = 'schema_migrations'"
TABLE_THERE: Final = {
    "sqlite": "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'",
    "postgresql": f"{NAMED} AND table_schema = current_schema()",
    "mysql": f"{NAMED} AND table_schema = database()",
}


def open_database(url: str, *, accept_weak_durability: bool = False) -> SqlDatabase:
    """Connect, bring the schema up to date, and check that commits survive a crash.

    Raises Invalid for a URL that makes no sense, a missing driver, a schema of a newer release or weak
    durability; Busy if the database cannot be reached.
    """
    return SqlDatabase(dialect_for(parse(url)), accept_weak_durability=accept_weak_durability)


def pending(url: str) -> tuple[str, tuple[str, ...]]:
    """Where it is, and which migrations it lacks.  Repeatable: nothing is written, and no file made.

    Raises as `open_database` does.
    """
    dialect = dialect_for(parse(url))
    known = migrations(dialect.name)
    number = 0 if _is_no_file(dialect) else _number(dialect)
    refuse_newer(dialect.where, number, known[-1].number)
    return dialect.where, tuple(migration.name for migration in known[number:])


def _is_no_file(dialect: Dialect) -> bool:
    return dialect.name == "sqlite" and not Path(dialect.where).exists()


def _number(dialect: Dialect) -> int:
    try:
        session = dialect.connect()
        try:
            if not session.run(TABLE_THERE[dialect.name]).rows:
                return 0
            ((number,),) = session.run("SELECT coalesce(max(number), 0) FROM schema_migrations").rows
        finally:
            session.close()
    except Trouble as trouble:
        raise before_commit(dialect.where, trouble) from trouble
    return int(number)


def dialect_for(url: DatabaseUrl) -> Dialect:
    try:
        match url.dialect:
            case "mysql":
                from holdfast.adapters.sql.mysql.dialect import MysqlDialect

                return MysqlDialect(url)
            case "postgresql":
                from holdfast.adapters.sql.postgresql.dialect import PostgresqlDialect

                return PostgresqlDialect(url)
            case _:
                from holdfast.adapters.sql.sqlite.dialect import SqliteDialect

                return SqliteDialect(url.name)
    except ImportError as error:
        raise Invalid(
            f"database: {url.dialect}:// needs the package {error.name}, which is not installed "
            "(run: pip install 'holdfast[server]')"
        ) from error
