"""Where the record, its events and the notices are: in a SQLite file, or in two DynamoDB tables."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from holdfast.app.autoscaler import clients
from holdfast.app.files import open_file
from holdfast.autoscaler.ports import ClusterStore, Inbox
from holdfast.autoscaler.settings import Settings

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

    from holdfast.adapters.aws.dynamodb import DynamoItems
    from holdfast.adapters.sql.sqlite import Database, SqliteItems
    from holdfast.autoscaler.money.ledger import Ledger
    from holdfast.autoscaler.notifications.record import Board
    from holdfast.autoscaler.record import Cluster
    from holdfast.kernel.ports import Repository


@dataclass(frozen=True)
class Stores:
    """The record and the inbox.  As a context, they are closed at its end."""

    store: ClusterStore
    inbox: Inbox
    where: str
    """For people."""
    close: Callable[[], None] = lambda: None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_stores(
    settings: Settings, environ: Mapping[str, str] = os.environ, *, create_tables: bool = False
) -> Stores:
    """In a SQLite file if the settings name one, else in DynamoDB.

    A missing table is made only if `create_tables` says so.
    """
    if settings.database:
        return _in_sqlite(settings.database)
    from holdfast.adapters.aws.dynamodb.inbox import DynamoInbox

    client = clients.dynamodb_client(settings, environ)
    state, logs = settings.state_table, settings.logs_table
    store = dynamodb_cluster_store(client, state_table=state, logs_table=logs, create_tables=create_tables)
    return Stores(store, DynamoInbox(client, logs), f"DynamoDB tables {state} and {logs}")


def dynamodb_cluster_store(
    client: "DynamoDBClient", *, state_table: str, logs_table: str, create_tables: bool = False
) -> "DynamoItems[Cluster]":
    """The cluster's record in one table, its events in the other."""
    from holdfast.adapters.aws.dynamodb import DynamoItems
    from holdfast.autoscaler.codec import CODEC
    from holdfast.kernel.event import EVENTS_KEPT_S

    if create_tables:
        from holdfast.adapters.aws.dynamodb.tables import ensure_table

        ensure_table(client, state_table, "pk")
        ensure_table(client, logs_table, "pk", "sk", expiry="expiresEpoch")
    return DynamoItems(
        client, CODEC, table=state_table, key="pk", events_table=logs_table, events_kept_s=EVENTS_KEPT_S
    )


def sqlite_cluster_store(database: "Database") -> "SqliteItems[Cluster]":
    """The cluster's record in an open file."""
    from holdfast.adapters.sql.sqlite import SqliteItems
    from holdfast.autoscaler.codec import CODEC

    return SqliteItems(database, "cluster_state", CODEC)


def _in_sqlite(path: str) -> Stores:
    from holdfast.adapters.sql.sqlite.inbox import SqliteInbox

    database = open_file(path)
    return Stores(
        sqlite_cluster_store(database), SqliteInbox(database), f"SQLite file {path}", database.close
    )


@dataclass(frozen=True)
class Boards:
    """The records beside the cluster's: what operators were told, and what was spent."""

    notifications: "Repository[Board]"
    ledger: "Repository[Ledger]"


def open_boards(settings: Settings, environ: Mapping[str, str] = os.environ) -> Boards:
    """In the same file or tables as the cluster's record, each under a key of its own."""
    from holdfast.autoscaler.money import ledger
    from holdfast.autoscaler.notifications import record as notifications

    if settings.database:
        from holdfast.adapters.sql.sqlite import SqliteItems

        database = open_file(settings.database)
        return Boards(
            SqliteItems(database, "notifications", notifications.CODEC),
            SqliteItems(database, "ledger", ledger.CODEC),
        )
    from holdfast.adapters.aws.dynamodb import DynamoItems
    from holdfast.kernel.event import EVENTS_KEPT_S

    client = clients.dynamodb_client(settings, environ)
    state, logs = settings.state_table, settings.logs_table
    return Boards(
        DynamoItems(
            client,
            notifications.CODEC,
            table=state,
            key="pk",
            events_table=logs,
            events_kept_s=EVENTS_KEPT_S,
        ),
        DynamoItems(
            client, ledger.CODEC, table=state, key="pk", events_table=logs, events_kept_s=EVENTS_KEPT_S
        ),
    )
