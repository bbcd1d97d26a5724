"""Workers' own rows beside the agreed cap, on every CapStore."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.adapters.aws.dynamodb.caps import DynamoCapStore
from holdfast.adapters.clock import new_id
from holdfast.adapters.sql.sqlite import Database
from holdfast.adapters.sql.sqlite.caps import SqliteCapStore
from holdfast.kernel import Event, Invalid, Write
from holdfast.leases.cap import Cap, View, coordinator
from holdfast.leases.ports import CapStore
from holdfast.sim.memory import MemoryCaps
from tests.ministack import client_for

APP = "my-app"


@pytest.fixture(params=["memory", "sqlite", "dynamodb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CapStore]:
    if request.param == "dynamodb":
        endpoint = request.getfixturevalue("dynamodb_endpoint")
        yield DynamoCapStore(client_for(endpoint), stream_name=f"stream-{new_id()[:8]}", app_name=APP)
    elif request.param == "sqlite":
        database = Database(str(tmp_path / "state.db"))
        yield SqliteCapStore(database, "stream")
        database.close()
    else:
        yield MemoryCaps()


def test_each_worker_has_a_row_and_the_last_one_counts(store: CapStore) -> None:
    store.save_worker(APP, "worker-1", View(30, 3), 1_000.0)
    store.save_worker(APP, "worker-2", View(30, 3), 1_001.0)
    store.save_worker(APP, "worker-1", View(60, 3), 1_002.0)
    store.save_worker("other-app", "worker-9", View(60, 1), 1_003.0)

    assert store.workers(APP) == {"worker-1": 20, "worker-2": 10}


def test_a_worker_cannot_take_the_place_of_the_agreed_record(store: CapStore) -> None:
    agreed = Write(Cap(View(30, 3)), (Event("capAgreed", 1_000.0),))
    store.commit(coordinator(APP), store.read(coordinator(APP)), agreed, new_id())

    with pytest.raises(Invalid, match="is the name of the agreed record"):
        store.save_worker(APP, coordinator(APP), View(60, 1), 1_001.0)

    assert store.read(coordinator(APP)).value == Cap(View(30, 3))
    assert store.workers(APP) == {}
