"""The seed's walk-through, step by step, on a real stream and both DynamoDBs: its tables, its log lines."""

import io
import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast.adapters import logs
from holdfast.adapters.aws.dynamodb.caps import DynamoCapStore
from holdfast.adapters.aws.dynamodb.client import make_client
from holdfast.adapters.clock import SystemClock, new_id
from holdfast.stream import initialize_max_leases_per_worker
from tests.real.product.leases import dynamodbs
from tests.real.streams import Streams
from tools.parts.catalog.kinesis_local import KinesisLocal

APP = "my-app"
EXTRAS = {"version", "commitId", "agreement"}
"""What our rows have beside the seed's attributes."""
WORKERS = ("worker-1", "worker-2", "worker-3")


class Walk:
    """One stream and its table, on a clock that the seed gives."""

    def __init__(self, streams: Streams, client: Any, at: Callable[[str], None]) -> None:
        self.stream, self.streams, self.client, self.at = f"kds-{new_id()[:8]}", streams, client, at
        self.log = io.StringIO()
        logs.set_up("level", stream=self.log)

    def start(self, worker_id: str) -> int | None:
        self.log.truncate(0)
        self.log.seek(0)
        return initialize_max_leases_per_worker(
            region="us-east-1", stream_name=self.stream, app_name=APP, worker_id=worker_id
        )

    @property
    def lines(self) -> list[str]:
        return self.log.getvalue().splitlines()

    def table(self) -> dict[str, tuple[int, str, str, int, int, str]]:
        """As the seed draws it; the extras must be there, and nothing else."""
        drawn = {}
        for key, row in dynamodbs.rows(self.client, f"{self.stream}_meta").items():
            assert {*row} - {
                "max_leases_per_worker", "stream_name", "app_name", "shard_count", "worker_count",
                "last_update_time",
            } == EXTRAS, row  # fmt: skip
            drawn[key] = (
                row["max_leases_per_worker"], row["stream_name"], row["app_name"],
                row["shard_count"], row["worker_count"], row["last_update_time"],
            )  # fmt: skip
        return drawn

    def row(self, cap: int, shards: int, at: str) -> tuple[int, str, str, int, int, str]:
        return cap, self.stream, APP, shards, 3, at


@pytest.fixture(params=dynamodbs.NAMES, scope="module")
def dynamodb(request: pytest.FixtureRequest) -> Iterator[tuple[str, dict[str, str]]]:
    with dynamodbs.running(request.param) as running:
        yield running


@pytest.fixture
def walk(
    kinesis: KinesisLocal,
    streams: Streams,
    dynamodb: tuple[str, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Walk]:
    endpoint, keys = dynamodb
    given = {
        "AWS_ENDPOINT_URL_KINESIS": kinesis.endpoint,
        "AWS_ENDPOINT_URL_DYNAMODB": endpoint,
        "KDS_WORKER_COUNT": "3",
        "ENABLE_DYNAMIC_MAX_LEASES": "true",
        **keys,
    }
    dynamodbs.sign_in(monkeypatch, given)

    def at(time: str) -> None:
        at_s = datetime.strptime(time, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
        monkeypatch.setattr(SystemClock, "now_s", lambda self: at_s)

    client = make_client(region="us-east-1")
    made = Walk(streams, client, at)
    made.streams.make(made.stream, 30)
    yield made
    client.close()
    made.streams.client.delete_stream(StreamName=made.stream)


def test_steps_1_to_7(walk: Walk) -> None:
    first, second, third = (f"2025-11-19T10:00:0{n}Z" for n in (0, 2, 4))
    expected: dict[str, Any] = {}
    for worker, at in zip(WORKERS, (first, second, third), strict=True):
        walk.at(at)
        assert walk.start(worker) == 10
        expected |= {worker: walk.row(10, 30, at), f"{APP}_coordinator": walk.row(10, 30, first)}
        assert walk.table() == expected, f"after the start of {worker}"

    walk.streams.reshard(walk.stream, 60)
    assert walk.table() == expected, "step 4: a reshard alone changes nothing"

    walk.at("2025-11-19T12:05:00Z")
    assert walk.start("worker-1") == 20
    assert walk.lines == [
        f"INFO  Initializing max leases per worker  stream={walk.stream} app=my-app worker=worker-1",
        "INFO  Retrieved current system state  currentShardCount=60 currentWorkerCount=3",
        "INFO  Detected configuration change, recalculating max leases per worker  oldShardCount=30 "
        "newShardCount=60 oldWorkerCount=3 newWorkerCount=3 oldMaxLeases=10",
        "INFO  Calculated max leases per worker  shardCount=60 workerCount=3 shardsPerWorker=20 "
        "maxLeasesPerWorker=20",
        "INFO  Successfully updated coordinator metadata  coordinatorKey=my-app_coordinator "
        "newMaxLeasesPerWorker=20",
        "INFO  Successfully initialized dynamic max leases per worker  maxLeasesPerWorker=20",
    ]
    again = walk.row(20, 60, "2025-11-19T12:05:00Z")
    expected |= {"worker-1": again, f"{APP}_coordinator": again}
    assert walk.table() == expected

    for worker, at in (("worker-2", "2025-11-19T12:05:05Z"), ("worker-3", "2025-11-19T12:05:15Z")):
        walk.at(at)
        assert walk.start(worker) == 20
        assert walk.lines == [
            f"INFO  Initializing max leases per worker  stream={walk.stream} app=my-app worker={worker}",
            "INFO  Retrieved current system state  currentShardCount=60 currentWorkerCount=3",
            "INFO  Configuration unchanged, using existing coordinator metadata  maxLeasesPerWorker=20 "
            "shardCount=60 workerCount=3",
            "INFO  Successfully initialized dynamic max leases per worker  maxLeasesPerWorker=20",
        ]
        expected |= {worker: walk.row(20, 60, at)}
        assert walk.table() == expected


def test_step_8_two_restart_at_the_same_time(walk: Walk, monkeypatch: pytest.MonkeyPatch) -> None:
    walk.at("2025-11-19T10:00:00Z")
    for worker in WORKERS:
        walk.start(worker)
    walk.streams.reshard(walk.stream, 60)
    walk.at("2025-11-19T12:05:05Z")
    logs.set_up("json", stream=walk.log)
    commit, at_once = DynamoCapStore.commit, threading.Barrier(2)

    def together(self: DynamoCapStore, *given: Any) -> Any:
        at_once.wait(60)
        return commit(self, *given)

    monkeypatch.setattr(DynamoCapStore, "commit", together)
    caps: list[int | None] = []
    threads = [
        threading.Thread(target=lambda worker=worker: caps.append(walk.start(worker)))
        for worker in WORKERS[1:]
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert caps == [20, 20]
    row = walk.row(20, 60, "2025-11-19T12:05:05Z")
    assert {key: found for key, found in walk.table().items() if key != "worker-1"} == {
        "worker-2": row, "worker-3": row, f"{APP}_coordinator": row,
    }  # fmt: skip
    told = [json.loads(line) for line in walk.lines]
    lost = [line for line in told if line["msg"] == "Another worker already updated coordinator metadata"]
    assert len(lost) == 1, told
    done = [line for line in told if line["msg"].startswith("Successfully initialized")]
    assert [line["maxLeasesPerWorker"] for line in done] == [20, 20]


def test_with_the_flag_off_nothing_is_agreed_on(walk: Walk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENABLE_DYNAMIC_MAX_LEASES", "false")

    assert walk.start("worker-1") is None
    assert f"{walk.stream}_meta" not in walk.client.list_tables()["TableNames"]
