"""The leases: where the agreement is stored, and all that one worker may touch."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import random
from typing import TYPE_CHECKING, Final, Self

from holdfast.app.clients import aws_client
from holdfast.app.counting import expected_workers, lease_rows, shard_count
from holdfast.app.files import open_file
from holdfast.kernel import Busy, Unknown
from holdfast.leases.cap import refuse_reserved
from holdfast.leases.ports import CapStore
from holdfast.leases.settings import Settings
from holdfast.leases.worker.counting import WorkerPorts

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

    from holdfast.adapters.sql.sqlite import Database

PAUSES_S: Final = (0.1, 0.4, 1.6)
"""Between tries to find or make the tables: a worker need not die at its start of one throttled call."""


@dataclass(frozen=True)
class OpenStore:
    """The store of the agreement.  As a context, it is closed at its end."""

    store: CapStore
    where: str
    """For people."""
    close: Callable[[], None] = lambda: None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def cap_store(database: "Database", *, stream_name: str, app_name: str, table: str = "") -> CapStore:
    """In an open SQLite file."""
    from holdfast.adapters.sql.sqlite.caps import SqliteCapStore

    return SqliteCapStore(database, stream_name=stream_name, app_name=app_name, table=table)


def open_store(
    settings: Settings, environ: Mapping[str, str] = os.environ, *, create_tables: bool = False
) -> OpenStore:
    """In a SQLite file if the settings name one, else in DynamoDB.

    Missing tables are made only if `create_tables` says so, for a worker; not for one whose id is refused.
    """
    if create_tables:
        refuse_reserved(settings.worker_id)
    names = {"stream_name": settings.stream_name, "app_name": settings.app_name}
    table = settings.meta_table_name
    if settings.database:
        database = open_file(settings.database)
        store = cap_store(database, **names, table=table)
        return OpenStore(store, f"SQLite file {settings.database}", database.close)
    from holdfast.adapters.aws.dynamodb.caps import DynamoCapStore
    from holdfast.adapters.aws.dynamodb.client import make_client

    client = aws_client(make_client, settings.region, environ)
    if create_tables:
        make_tables(client, table)
    return OpenStore(
        DynamoCapStore(client, **names, meta_table=table), f"DynamoDB table {table}", client.close
    )


def make_tables(client: "DynamoDBClient", table: str) -> None:
    """Twice is once, so a throttled call or a lost answer is simply asked again."""
    from holdfast.adapters.aws.dynamodb.caps import ensure_cap_tables
    from holdfast.adapters.clock import SystemClock

    for n, pause_s in enumerate(PAUSES_S):
        try:
            return ensure_cap_tables(client, table, again=n > 0)
        except (Busy, Unknown):
            SystemClock().sleep(pause_s * (1 + random()) / 2)
    ensure_cap_tables(client, table, again=True)


def worker_ports(settings: Settings, store: CapStore, environ: Mapping[str, str] = os.environ) -> WorkerPorts:
    """The ports of a worker in this process."""
    from holdfast.adapters.clock import SystemClock, mono_s, new_id

    return WorkerPorts(
        store=store,
        shards=shard_count(settings, environ),
        leases=lease_rows(settings, environ),
        expected=expected_workers(settings, environ),
        clock=SystemClock(),
        mono_s=mono_s,
        new_id=new_id,
        random=random,
        stream_name=settings.stream_name,
    )
