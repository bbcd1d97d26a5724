"""Sixty-four workers start at the same instant where there is no table: one coordinator, one value."""

import os
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from holdfast.adapters.aws.dynamodb.caps import DynamoCapStore
from holdfast.adapters.clock import SystemClock, mono_s, new_id
from holdfast.app.leases import make_tables
from holdfast.leases.cap import View, coordinator
from holdfast.leases.ports import NotKnown
from holdfast.leases.settings import Settings
from holdfast.leases.worker.counting import WorkerPorts
from holdfast.leases.worker.start import StartWorker
from tests.real.product.leases import dynamodbs

WORKERS = 64
ROUNDS = int(os.environ.get("HOLDFAST_ROUNDS", "5"))
CALLS_MAX = 20


@dataclass(frozen=True)
class Thirty:
    """The stream and the workers' owner: what races here is the table."""

    def open_shards(self) -> int:
        return 30

    def leases(self) -> tuple[()]:
        return ()

    def expected(self) -> int | NotKnown:
        return 3


@pytest.fixture(params=dynamodbs.NAMES)
def counts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Counter[str]]]:
    with dynamodbs.running(request.param) as (endpoint, keys):
        dynamodbs.sign_in(monkeypatch, {"AWS_ENDPOINT_URL_DYNAMODB": endpoint, **keys})
        yield [Counter() for _ in range(WORKERS)]


class Round:
    """All of them on one new stream."""

    def __init__(self, clients: list[Any]) -> None:
        self.clients, self.stream = clients, f"stream-{new_id()[:8]}"
        self.at_once = threading.Barrier(WORKERS)
        self.caps: dict[int, int] = {}
        self.failed: list[BaseException] = []

    def run(self) -> None:
        threads = [threading.Thread(target=self._start, args=(n,)) for n in range(WORKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def store(self, n: int = 0) -> DynamoCapStore:
        return DynamoCapStore(self.clients[n], stream_name=self.stream, app_name="my-app")

    def _start(self, n: int) -> None:
        settings = Settings(
            stream_name=self.stream, app_name="my-app", worker_id=f"worker-{n}", kds_worker_count=3
        )
        counted = Thirty()
        ports = WorkerPorts(
            store=self.store(n), shards=counted, leases=counted, expected=counted,
            clock=SystemClock(), mono_s=mono_s, new_id=new_id, random=Random(n).random,
        )  # fmt: skip
        try:
            self.at_once.wait(120)
            make_tables(self.clients[n], f"{self.stream}_meta")
            self.caps[n] = StartWorker(ports, settings).run().max_leases_per_worker
        except BaseException as error:
            self.failed.append(error)


def test_one_coordinator_one_value_and_none_fails(counts: list[Counter[str]]) -> None:
    clients = [dynamodbs.counting_client(calls) for calls in counts]
    at_most = 0
    for _ in range(ROUNDS):
        for calls in counts:
            calls.clear()
        started = Round(clients)
        started.run()

        assert not started.failed, started.failed[:3]
        assert started.caps == dict.fromkeys(range(WORKERS), 10)
        most = max(counts, key=Counter.total)
        assert most.total() <= CALLS_MAX, dict(most)
        at_most = max(at_most, most.total())
        agreed = started.store().read(coordinator("my-app"))
        assert (agreed.version, agreed.value.view) == (1, View(30, 3))
        rows = started.store().rows().own
        assert {row.max_leases_per_worker for row in rows.values()} == {10}
        assert len(rows) == WORKERS
    for client in clients:
        client.close()
    print(f"{ROUNDS} rounds of {WORKERS} workers: at most {at_most} calls of one")
