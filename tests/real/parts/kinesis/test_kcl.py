"""The real KCL on the stand-ins: it reads what was put, and ends when it is told."""

import subprocess
from collections.abc import Iterator

import boto3
import pytest

from tests.real.kcl_worker import Worker, prepare_leases
from tests.real.presence import present
from tests.real.streams import KEYS, Streams
from tests.real.traces import wait_until
from tools.parts.catalog.kcl import PART as KCL
from tools.parts.catalog.kcl import Fleet
from tools.parts.catalog.kinesis_local import KinesisLocal
from tools.parts.catalog.ministack import PART as MINISTACK
from tools.parts.catalog.ministack import Ministack


@pytest.fixture(scope="module")
def ministack() -> Iterator[Ministack]:
    started = present(MINISTACK).start()
    try:
        yield started
    finally:
        started.stop()


def test_it_reads_each_shard_and_keeps_its_leases_in_the_table(
    kinesis: KinesisLocal, streams: Streams, ministack: Ministack, name: str
) -> None:
    streams.make(name, 2)
    streams.put_into_each(name)
    fleet = Fleet(kinesis.endpoint, ministack.endpoint, name, f"{name}-app")
    leases = boto3.client("dynamodb", endpoint_url=ministack.endpoint, **KEYS)
    prepare_leases(leases, fleet.app_name, streams.open_shards(name))
    with Worker.start(present(KCL).command(2), fleet.environment("worker-1")) as worker:
        wait_until(lambda: worker.read >= set(streams.open_shards(name)), "both shards are read")
        worker.process.terminate()
        assert worker.process.wait(60) == 143, "as a JVM ends on SIGTERM"
    rows = leases.scan(TableName=fleet.app_name)["Items"]
    assert {row["leaseOwner"]["S"] for row in rows} == {"worker-1"}
    assert all(row["checkpoint"]["S"].isdigit() for row in rows)
    leases.close()


def test_a_cap_that_is_no_number_ends_it(kinesis: KinesisLocal) -> None:
    argv = present(KCL).command("ten")
    environment = Fleet(kinesis.endpoint, kinesis.endpoint, "any", "any").environment("worker-1")
    done = subprocess.run(argv, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert 'For input string: "ten"' in done.stderr
