"""Each implementation, brought to trial: how to open it, race on it, and go behind its back."""

import json
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from holdfast.adapters.aws.dynamodb.caps import DynamoCapStore, ensure_cap_tables
from holdfast.adapters.aws.dynamodb.items import DynamoItems
from holdfast.adapters.aws.dynamodb.marshal import plain_item, tagged
from holdfast.adapters.sql.sqlite import Database, SqliteItems
from holdfast.app.autoscaler.stores import dynamodb_cluster_store
from holdfast.failover.group import Group
from holdfast.kernel import Event, HoldfastError, Logged, Repository
from holdfast.kernel.event import sort_key
from holdfast.kernel.item import Codec
from holdfast.sim.failover.store import MemoryGroups
from holdfast.sim.memory import MemoryItems
from tests.adapters.contract import group_samples, samples

Record = TypeVar("Record")


def side_by_side(calls: Sequence[Callable[[], Any]]) -> Sequence[Any]:
    """All calls at once, each in a thread that waits for the others."""
    answers: list[Any] = [None] * len(calls)
    barrier = threading.Barrier(len(calls))

    def run(n: int) -> None:
        barrier.wait()
        try:
            answers[n] = calls[n]()
        except HoldfastError as error:
            answers[n] = error

    racers = [threading.Thread(target=run, args=(n,)) for n in range(len(calls))]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    return answers


def draw() -> str:
    return uuid.uuid4().hex


@dataclass
class MemoryTrial(Generic[Record]):
    codec: Codec[Record]
    samples: tuple[Record, Record, Record]
    absurdities: Sequence[tuple[str, Any]]
    guarded_attributes: tuple[str, Any] | None = None
    subject: str = "cluster"
    new_id: ClassVar[Callable[[], str]] = staticmethod(draw)

    def __post_init__(self) -> None:
        self.store = MemoryItems(self.codec)
        self.lock = threading.Lock()

    def open(self) -> Repository[Record]:
        return self.store

    def race(self, calls: Sequence[Callable[[], Any]]) -> Sequence[Any]:
        # In the simulated world one process runs at a time: its atomicity is the scheduler's.
        def alone(call: Callable[[], Any]) -> Any:
            with self.lock:
                return call()

        return side_by_side([lambda call=call: alone(call) for call in calls])  # type: ignore[misc]

    def plant(self, attribute: str, value: Any) -> None:
        self.store.items[self.subject] = {**self.store.items[self.subject], attribute: value}

    def stored(self) -> Mapping[str, Any]:
        return dict(self.store.items[self.subject])

    def plant_event(self, version: int) -> None:
        logged = Logged(self.subject, version, 0, "another", Event("planted", 0.0))
        self.store.log.by_subject[self.subject][version, 0] = logged

    def lose_record(self) -> None:
        del self.store.items[self.subject]

    def unversion(self) -> None:
        item = self.store.items[self.subject]
        self.store.items[self.subject] = {name: item[name] for name in item if name != "version"}
        del self.store.log.by_subject[self.subject]

    def forget_tokens(self) -> None:
        pass  # it remembers none: it always looks for the commit id


@dataclass
class MemoryGroupTrial:
    subject: str = "acme/agent-1"
    guarded_attributes: tuple[str, Any] | None = None  # nothing but the version
    absurdities: Sequence[tuple[str, Any]] = ()  # it holds whole groups, which refuse to be absurd
    new_id: ClassVar[Callable[[], str]] = staticmethod(draw)

    def __post_init__(self) -> None:
        self.samples = group_samples.groups("acme", "agent-1")
        self.store = MemoryGroups(lambda: 0.0)
        self.lock = threading.Lock()
        self.beside: dict[str, Any] = {}

    def open(self) -> Repository[Group]:
        return self.store

    def race(self, calls: Sequence[Callable[[], Any]]) -> Sequence[Any]:
        return MemoryTrial.race(self, calls)  # type: ignore[arg-type]

    def plant(self, attribute: str, value: Any) -> None:
        self.beside[attribute] = value

    def stored(self) -> Mapping[str, Any]:
        return self.beside

    def plant_event(self, version: int) -> None:
        MemoryTrial.plant_event(self, version)  # type: ignore[arg-type]

    def lose_record(self) -> None:
        del self.store.groups[self.subject]

    def unversion(self) -> None:
        stored = self.store.groups[self.subject]
        stored.found = type(stored.found)(stored.found.value, 0, "")
        del self.store.log.by_subject[self.subject]

    def forget_tokens(self) -> None:
        pass


class OnSqlite:
    """What every trial on a SQLite file shares."""

    subject: str
    collection: str
    opened: list[Database]

    def race(self, calls: Sequence[Callable[[], Any]]) -> Sequence[Any]:
        return side_by_side(calls)

    def sql(self, sql: str, *values: Any) -> list[Any]:
        with self.opened[0].transaction() as db:
            return db.execute(sql, values).fetchall()

    def plant_event(self, version: int) -> None:
        self.sql(
            "INSERT INTO events VALUES (?, ?, ?, 0, 'another', 0, 'planted', '', '', '{}', '')",
            self.collection, self.subject, version,
        )  # fmt: skip

    def forget_tokens(self) -> None:
        pass  # it knows no tokens: it always looks for the commit id


@dataclass
class SqliteTrial(OnSqlite, Generic[Record]):
    path: str
    codec: Codec[Record]
    samples: tuple[Record, Record, Record]
    absurdities: Sequence[tuple[str, Any]]
    guarded_attributes: tuple[str, Any] | None = None
    subject: str = "cluster"
    collection: str = "trial"
    new_id: ClassVar[Callable[[], str]] = staticmethod(draw)
    opened: list[Database] = field(default_factory=list)

    def open(self) -> Repository[Record]:
        self.opened.append(Database(self.path))
        return SqliteItems(self.opened[-1], self.collection, self.codec)

    def plant(self, attribute: str, value: Any) -> None:
        if attribute == "version":
            self.sql("UPDATE records SET version = ? WHERE collection = ?", value, self.collection)
            return
        body = {**self.stored(), attribute: value}
        del body["version"]
        self.sql("UPDATE records SET body = ? WHERE collection = ?", json.dumps(body), self.collection)

    def stored(self) -> Mapping[str, Any]:
        ((body, version),) = self.sql(
            "SELECT body, version FROM records WHERE collection = ?", self.collection
        )
        return {**json.loads(body), "version": version}

    def lose_record(self) -> None:
        self.sql("DELETE FROM records")

    def unversion(self) -> None:
        self.sql("UPDATE records SET version = NULL, commit_id = ''")
        self.sql("DELETE FROM events")


@dataclass
class DynamoTrial(Generic[Record]):
    """`make` opens a client; `build` makes the store with tables of its own."""

    make: Callable[[], Any]
    build: Callable[[Any], DynamoItems[Record]]
    table: str
    key: str
    events_table: str
    samples: tuple[Record, Record, Record]
    absurdities: Sequence[tuple[str, Any]]
    guarded_attributes: tuple[str, Any]
    subject: str
    new_id: ClassVar[Callable[[], str]] = staticmethod(draw)

    def __post_init__(self) -> None:
        self.forgotten = False
        self.raw = self.make()

    def open(self) -> Repository[Record]:
        client = self.make()
        # After ten minutes a token means nothing: every transaction is new to the server.
        client.meta.events.register(
            "provide-client-params.dynamodb.TransactWriteItems",
            lambda params, **_: {**params, "ClientRequestToken": draw()} if self.forgotten else params,
        )
        return self.build(client)

    def race(self, calls: Sequence[Callable[[], Any]]) -> Sequence[Any]:
        return side_by_side(calls)

    @property
    def at(self) -> dict[str, Any]:
        return {"TableName": self.table, "Key": {self.key: {"S": self.subject}}}

    def plant(self, attribute: str, value: Any) -> None:
        self.raw.update_item(
            **self.at,
            UpdateExpression="SET #a = :v",
            ExpressionAttributeNames={"#a": attribute},
            ExpressionAttributeValues={":v": tagged(value)},
        )

    def stored(self) -> Mapping[str, Any]:
        return plain_item(self.raw.get_item(**self.at, ConsistentRead=True)["Item"])

    def plant_event(self, version: int) -> None:
        row = {"pk": self.subject, "sk": sort_key(version, 0), "version": version, "commitId": "another"}
        self.raw.put_item(TableName=self.events_table, Item={name: tagged(v) for name, v in row.items()})

    def lose_record(self) -> None:
        self.raw.delete_item(**self.at)

    def unversion(self) -> None:
        self.raw.update_item(**self.at, UpdateExpression="REMOVE version, commitId")
        rows = self.raw.scan(TableName=self.events_table)["Items"]
        for row in rows:
            self.raw.delete_item(TableName=self.events_table, Key={"pk": row["pk"], "sk": row["sk"]})

    def forget_tokens(self) -> None:
        self.forgotten = True


def dynamo_cluster(make: Callable[[], Any]) -> DynamoTrial[Any]:
    name = f"trial-{draw()[:8]}"
    return DynamoTrial(
        make=make,
        build=lambda client: dynamodb_cluster_store(
            client, state_table=name, logs_table=f"{name}-logs", create_tables=True
        ),
        table=name,
        key="pk",
        events_table=f"{name}-logs",
        samples=samples.CLUSTERS,
        absurdities=samples.CLUSTER_ABSURDITIES,
        guarded_attributes=samples.CLUSTER_GUARDED,
        subject="cluster",
    )


def made_cap_store(client: Any, stream: str) -> DynamoCapStore:
    ensure_cap_tables(client, f"{stream}_meta")
    return DynamoCapStore(client, stream_name=stream, app_name="my-app")


def dynamo_cap(make: Callable[[], Any]) -> DynamoTrial[Any]:
    stream = f"stream-{draw()[:8]}"
    return DynamoTrial(
        make=make,
        build=lambda client: made_cap_store(client, stream),
        table=f"{stream}_meta",
        key="worker_id",
        events_table=f"{stream}_meta_events",
        samples=samples.CAPS,
        absurdities=samples.CAP_ABSURDITIES,
        guarded_attributes=samples.CAP_GUARDED,
        subject="my-app_coordinator",
    )
