"""Renewals of leases in batches, beside the bare driver that commits one row after the other.

Both sides write the same table of the same database, durably, over one connection each.  The bare side does
what a server would do by hand for each heartbeat: one guarded update that commits by itself.  Ours stores the
reports too, and answers each heartbeat from its row.
"""

import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

import psycopg
import pymysql

from bench import Row
from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups import SqlGroupStore
from holdfast.adapters.sql.opening import dialect_for
from holdfast.adapters.sql.url import parse
from holdfast.failover.ports import Beat, Report, Term
from tools.parts.catalog.mariadb import PART as MARIADB
from tools.parts.catalog.postgresql import PART as POSTGRESQL

RATIO_MAX: Final = 0.2
"""At least five times as many a second."""
INSTANCES, BATCH, SINGLE, ROUNDS = 10_000, 1_000, 300, 7
TERM: Final = Term(10.0)
REPORT: Final = Report(position="0/16B3740", lag_s=0.1, sync_age_s=1.0, sync_epoch=1, healthy=True)
BARE: Final = (
    "UPDATE instances SET lease_until_s = {now} + 10 WHERE client_id = 'c' AND id = 'i-{n}'"
    " AND is_primary AND epoch = 1 AND session = 's'"
)

Do = Callable[[str], Any]


def run() -> list[Row]:
    return [compare(name) for name in ("sqlite", "postgresql", "mariadb")]


def compare(name: str) -> Row:
    with ExitStack() as stack:
        url = stack.enter_context(started(name))
        dialect = dialect_for(parse(url))
        store = SqlGroupStore(stack.enter_context(closing(SqlDatabase(dialect))))
        do = stack.enter_context(bare(name, url))
        fill(do)
        now = dialect.macros["now"] if name != "sqlite" else "1730000000.0"
        rounds = []
        for n in range(ROUNDS):
            rounds.append((batches(store, n), singles(do, now, n)))
    ours_s, bare_s = (median(side) for side in zip(*rounds, strict=True))
    return Row(
        f"renewals in batches of {BATCH:,}, {name}",
        ours_per_s=1 / ours_s,
        beside="one row a commit",
        beside_per_s=1 / bare_s,
        ratio=median(one / other for one, other in rounds),
        ratio_max=RATIO_MAX,
    )


def fill(do: Do) -> None:
    for start in range(0, INSTANCES, 1_000):
        rows = ", ".join(
            f"('c', 'i-{n}', 'c/a-{n}', 0, TRUE, 'running_primary', 1, 's')"
            for n in range(start, start + 1_000)
        )
        do(
            "INSERT INTO instances"
            " (client_id, id, agent_id, position, is_primary, instance_status, epoch, session)"
            f" VALUES {rows}"
        )


def batches(store: SqlGroupStore, number: int) -> float:
    """Seconds a renewal."""
    first = number * BATCH % INSTANCES
    beats = [Beat("c", f"a-{n}", f"i-{n}", "s", 1, REPORT) for n in range(first, first + BATCH)]
    began_s = time.perf_counter()
    grants = store.renew(beats, TERM)
    took_s = time.perf_counter() - began_s
    assert all(grant.lease_s == TERM.granted_s for grant in grants)
    return took_s / BATCH


def singles(do: Do, now: str, number: int) -> float:
    began_s = time.perf_counter()
    for n in range(number * SINGLE, (number + 1) * SINGLE):
        do(BARE.format(now=now, n=n))
    return (time.perf_counter() - began_s) / SINGLE


@contextmanager
def started(name: str) -> Iterator[str]:
    if name == "sqlite":
        with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
            yield f"sqlite:{Path(folder) / 'state.db'}"
    elif name == "mariadb":
        with MARIADB.start() as mariadb:
            with pymysql.connect(host="127.0.0.1", port=mariadb.port, user="root") as made:
                made.cursor().execute("CREATE DATABASE bench")
            yield mariadb.url("bench")
    else:
        with POSTGRESQL.start() as postgresql:
            yield postgresql.url()


@contextmanager
def bare(name: str, url: str) -> Iterator[Do]:
    """The driver itself, in its fastest durable way: each statement commits."""
    to = parse(url)
    if name == "sqlite":
        with closing(sqlite3.connect(to.name, isolation_level=None)) as file:
            file.execute("PRAGMA synchronous = FULL")
            yield file.execute
    elif name == "mariadb":
        opened = pymysql.connect(host=to.host, port=to.port, user=to.user, database=to.name, autocommit=True)
        with opened as connection:
            yield lambda sql: connection.cursor().execute(sql)
    else:
        with psycopg.connect(url, autocommit=True) as session:
            yield lambda sql: session.execute(sql.encode())
