"""Workers' own rows beside the agreed cap, on every CapStore: written only where they may be."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.aws.dynamodb.caps import DynamoCapStore, ensure_cap_tables
from holdfast.adapters.clock import new_id
from holdfast.adapters.sql.sqlite import Database
from holdfast.adapters.sql.sqlite.caps import SqliteCapStore
from holdfast.kernel import Conflict, Event, Write
from holdfast.leases.cap import Cap, View, coordinator
from holdfast.leases.events import LeaseEvent
from holdfast.leases.ports import CapStore, WriteRow
from holdfast.leases.rows import WorkerRow, own_key
from holdfast.sim.memory import MemoryCaps
from tests.ministack import client_for

APP, STREAM, SEEN = "my-app", "orders", View(30, 3)
AT_S = 1_763_546_400.0
Store = Callable[[str, str], CapStore]


@pytest.fixture(params=["memory", "sqlite", "dynamodb"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """The stores of several apps and streams on one table."""
    if request.param == "dynamodb":
        client = client_for(request.getfixturevalue("dynamodb_endpoint"))
        table = f"meta-{new_id()[:8]}"
        ensure_cap_tables(client, table)
        yield lambda app, stream: DynamoCapStore(client, stream_name=stream, app_name=app, meta_table=table)
    elif request.param == "sqlite":
        database = Database(str(tmp_path / "state.db"))
        yield lambda app, stream: SqliteCapStore(database, stream_name=stream, app_name=app, table="meta")
        database.close()
    else:
        items: dict[str, Any] = {}

        def memory(app: str, stream: str) -> CapStore:
            made = MemoryCaps(app_name=app, stream_name=stream)
            made.worker_items = items
            return made

        yield memory


@pytest.fixture
def store(stores: Store) -> CapStore:
    return stores(APP, STREAM)


def row(key: str = "worker-1", view: View = SEEN, **given: Any) -> WorkerRow:
    return WorkerRow(key=key, view=view, max_leases_per_worker=view.max_leases_per_worker, **given)


def write(store: CapStore, written: WorkerRow, over: str | None = None) -> None:
    store.write_row(WriteRow(written, over, news=True), AT_S)


def test_each_worker_has_a_row_and_the_last_one_counts(store: CapStore) -> None:
    write(store, row())
    write(store, row("worker-2"))
    write(store, row(view=View(60, 3)), over="")

    found = store.rows()

    assert {key: each.max_leases_per_worker for key, each in found.own.items()} == {
        "worker-1": 20,
        "worker-2": 10,
    }
    assert (found.taken, found.problems) == ({}, ())


def test_a_live_row_comes_back_as_it_was_written(store: CapStore) -> None:
    written = row(
        view=View(300, 2, 200),
        agreement=4,
        version=7,
        commit_id="commit-7",
        incarnation="one",
        heartbeat=3,
        holds=0,
        told=165,
    )
    write(store, written)

    found = store.rows().own["worker-1"]

    assert found == row(**{
        name: getattr(found if name == "last_update_time" else written, name)
        for name in WorkerRow.__slots__
        if name != "max_leases_per_worker"
    })  # fmt: skip
    assert found.last_update_time
    assert (found.told, found.holds, found.view.limit) == (165, 0, 200)


def test_a_row_of_another_app_or_stream_is_never_overwritten(stores: Store) -> None:
    ours, theirs, elsewhere = stores(APP, STREAM), stores("other-app", STREAM), stores(APP, "payments")
    write(theirs, row(view=View(60, 1)))

    with pytest.raises(Conflict):
        write(ours, row())
    with pytest.raises(Conflict):
        write(ours, row(), over="")
    with pytest.raises(Conflict):
        write(elsewhere, row(), over="")

    assert theirs.rows().own["worker-1"].view == View(60, 1)
    assert ours.rows().taken == {"worker-1": "a worker of app 'other-app' on stream 'orders'"}
    key = own_key(ours.rows(), APP, "worker-1")
    write(ours, row(key))
    assert (key, list(ours.rows().own)) == ("my-app/worker-1", ["my-app/worker-1"])
    theirs.delete_row(row(view=View(60, 1)))
    assert own_key(ours.rows(), APP, "worker-1") == key, "a second process of this id meets the first one"


def test_two_streams_of_one_app_on_one_table_leave_each_others_rows(stores: Store) -> None:
    ours, elsewhere = stores(APP, STREAM), stores(APP, "payments")
    write(ours, row())

    for over in (None, ""):
        with pytest.raises(Conflict):
            write(elsewhere, row(view=View(60, 1)), over=over)
    with pytest.raises(Conflict):
        elsewhere.delete_row(row())

    assert ours.rows().own["worker-1"].view == SEEN


def test_the_newer_incarnation_wins_and_the_older_one_is_refused(store: CapStore) -> None:
    write(store, row(incarnation="one", heartbeat=1))
    write(store, row(incarnation="two", heartbeat=1), over="one")

    with pytest.raises(Conflict):
        write(store, row(incarnation="one", heartbeat=2), over="one")
    with pytest.raises(Conflict):
        write(store, row(incarnation="three", heartbeat=1), over="one")

    assert store.rows().own["worker-1"].incarnation == "two"


def test_a_late_beat_does_not_set_the_row_back(store: CapStore) -> None:
    write(store, row(incarnation="one", heartbeat=1))
    write(store, row(view=View(60, 3), incarnation="one", heartbeat=2), over="one")

    with pytest.raises(Conflict):
        write(store, row(incarnation="one", heartbeat=1), over="one")
    with pytest.raises(Conflict):
        write(store, row(incarnation="one", heartbeat=1))

    assert store.rows().own["worker-1"].view == View(60, 3)


def test_who_leaves_deletes_its_own_row_and_no_other(store: CapStore) -> None:
    older, newer = row(incarnation="one", heartbeat=1), row(incarnation="two", heartbeat=1)
    write(store, older)
    write(store, newer, over="one")

    with pytest.raises(Conflict):
        store.delete_row(older)
    store.delete_row(newer)
    store.delete_row(newer)

    assert store.rows().own == {}


def test_the_agreed_record_is_no_workers_row(store: CapStore) -> None:
    agreed = Write(Cap(View(30, 3)), (Event("capAgreed", AT_S),))
    store.commit(coordinator(APP), store.read(coordinator(APP)), agreed, new_id())

    found = store.rows()

    assert (found.own, found.agreed_for) == ({}, (APP, STREAM))


def stored_time(store: CapStore) -> str:
    """Of the agreed row, as people read it."""
    subject = coordinator(APP)
    if isinstance(store, SqliteCapStore):
        ((body,),) = store.database.rows("SELECT body FROM records WHERE subject = ?", subject)
        return str(json.loads(body)["last_update_time"])
    assert isinstance(store, DynamoCapStore)
    item = store._dynamo.get_item(TableName=store._rows_table, Key={"worker_id": {"S": subject}})["Item"]
    return item["last_update_time"]["S"]


@pytest.mark.parametrize("stores", ["sqlite", "dynamodb"], indirect=True)
def test_an_alarm_or_a_turn_leaves_the_time_of_the_agreement(stores: Store) -> None:
    store, subject = stores(APP, STREAM), coordinator(APP)
    found = store.read(subject)
    for n, (kind, value) in enumerate(
        [
            (LeaseEvent.CAP_AGREED, Cap(SEEN, 1)),
            (LeaseEvent.SHARDS_UNREAD, Cap(SEEN, 1, unread=10)),
            (LeaseEvent.RESTART_BEGUN, Cap(SEEN, 1, unread=10, restarting="worker-1#one")),
        ]
    ):
        found = store.commit(subject, found, Write(value, (Event(kind, AT_S + n),)), new_id())
        assert stored_time(store) == "2025-11-19T10:00:00Z"

    last = Write(Cap(View(60, 3), 2), (Event(LeaseEvent.CAP_AGREED, AT_S + 7_500),))
    store.commit(subject, found, last, new_id())
    assert stored_time(store) == "2025-11-19T12:05:00Z"
