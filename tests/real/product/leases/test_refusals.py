"""Calls that are throttled, refused or lost: a worker agrees all the same, or says what to mend."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess
from urllib.parse import urlsplit

import pytest

from holdfast.app.leases import open_store
from holdfast.kernel import Busy, Invalid
from holdfast.leases.cap import coordinator
from holdfast.leases.settings import Settings
from holdfast.leases.settings.load import load
from holdfast.leases.worker import start
from holdfast.stream.live import LiveCap
from holdfast.stream.told import told_at_start
from holdfast.testing.proxy import PASS, RESET_AFTER, RESET_BEFORE, Fate, FaultProxy, refused
from tests.real.product.leases import dynamodbs
from tests.real.product.leases.dynamodbs import denied
from tests.real.product.leases.site import Site
from tests.real.traces import wait_until

THROTTLED = refused("ProvisionedThroughputExceededException")
DENIED = refused("AccessDeniedException")
BEING_MADE = refused("ResourceInUseException")
"""As Kinesis answers for a stream that is not ACTIVE; the stand-in lists the shards to come."""
BEFORE = "maxLeasesForWorker = 7\n"
SHARDS, WORKERS, CAP = 6, 3, 2


class Road:
    """The way to both services.  The n-th call of all, every one of a name or its next, meets its fate."""

    def __init__(self, site: Site, opened: ExitStack) -> None:
        self.calls: list[str] = []
        self.spoiled: dict[int, Fate] = {}
        self.always: dict[str, Fate] = {}
        self.once: dict[str, Fate] = {}
        self.endpoints = {
            name: opened.enter_context(self._proxy(endpoint)).endpoint
            for name, endpoint in (
                ("AWS_ENDPOINT_URL_KINESIS", site.kinesis.endpoint),
                ("AWS_ENDPOINT_URL_DYNAMODB", site.dynamodb_endpoint),
            )
        }

    def _proxy(self, endpoint: str) -> FaultProxy:
        address = urlsplit(endpoint)
        assert address.hostname
        assert address.port
        return FaultProxy(address.hostname, address.port, fate=self._fate)

    def _fate(self, n: int, head: str) -> Fate:
        (target,) = (line for line in head.split("\r\n") if line.lower().startswith("x-amz-target:"))
        call = target.rpartition(".")[2]
        self.calls.append(call)
        return (
            self.always.get(call) or self.once.pop(call, None) or self.spoiled.get(len(self.calls) - 1, PASS)
        )


@pytest.fixture
def road(site: Site) -> Iterator[Road]:
    site.streams.make(site.stream, SHARDS)
    with ExitStack() as opened:
        yield Road(site, opened)


@pytest.fixture
def settings(site: Site, road: Road, monkeypatch: pytest.MonkeyPatch) -> Settings:
    environment = site.environment("worker-1", KDS_WORKER_COUNT=str(WORKERS), **road.endpoints)
    dynamodbs.sign_in(monkeypatch, environment)
    return load({}, environment).settings


def expiry(site: Site, table: str) -> list[str]:
    """Whether DynamoDB deletes old rows and old events by itself."""
    return [
        site.tables.describe_time_to_live(TableName=name)["TimeToLiveDescription"]["TimeToLiveStatus"]
        for name in (table, f"{table}_events")
    ]


@pytest.mark.parametrize("fate", [RESET_AFTER, THROTTLED], ids=repr)
def test_whichever_call_of_a_start_fails_the_cap_is_agreed_on_once(
    site: Site, road: Road, settings: Settings, fate: Fate
) -> None:
    assert told_at_start(settings).max_leases == CAP
    calls = len(road.calls)
    assert {"CreateTable", "ListShards", "TransactWriteItems", "UpdateItem"} <= set(road.calls)
    for n in range(calls):
        road.calls.clear()
        road.spoiled = {n: fate}
        fresh = replace(settings, meta_table=f"{site.stream}-{n}")
        assert told_at_start(fresh).max_leases == CAP, f"call {n}: {road.calls[n]}"
        road.spoiled = {}
        assert expiry(site, f"{site.stream}-{n}") == ["ENABLED", "ENABLED"], f"call {n}"
        with open_store(fresh) as opened:
            events = [str(each.event.kind) for each in opened.store.events(coordinator(site.app))]
            rows = opened.store.rows()
        assert events == ["capAgreed"], f"call {n}"
        assert {key: row.max_leases_per_worker for key, row in rows.own.items()} == {"worker-1": CAP}
        assert rows.problems == ()


@pytest.fixture
def properties(tmp_path: Path) -> Path:
    file = tmp_path / "kcl.properties"
    file.write_text(BEFORE)
    return file


def run(site: Site, road: Road, *words: str) -> CompletedProcess[str]:
    return site.run(*words, KDS_WORKER_COUNT=str(WORKERS), **road.endpoints)


def test_a_live_worker_lives_through_every_third_call_that_fails(
    site: Site, road: Road, settings: Settings
) -> None:
    fates = (RESET_AFTER, THROTTLED, RESET_BEFORE)
    changed: list[int] = []
    with LiveCap(settings=replace(settings, kds_worker_count=1), on_change=changed.append) as live:
        assert live.max_leases == SHARDS
        road.calls.clear()
        road.spoiled = {3 * n: fates[n % 3] for n in range(100)}
        wait_until(lambda: len(road.calls) > 60, "twenty calls have failed")
        road.spoiled = {}
        beats = int(site.rows()["worker-1"]["heartbeat"])
        wait_until(lambda: int(site.rows()["worker-1"]["heartbeat"]) > beats + 2, "it beats on")
    assert changed == [SHARDS], "what is in force stays in force"
    assert site.agreed["version"] == "1", "nothing was written twice"


@pytest.mark.parametrize(
    ("word", "call", "fate", "said", "fix"),
    [
        ("cap", "ListShards", DENIED, "stream/{stream}: kinesis:ListShards", "grant the role this action"),
        ("cap", "ListShards", BEING_MADE, "stream {stream} is not active", "wait until"),
        ("exec", "ListShards", BEING_MADE, "stream {stream} is not active", "wait until"),
        ("exec", "UpdateItem", DENIED, "{stream}_meta", "grant the role this action on this table"),
        ("cap", "DescribeTable", THROTTLED, "create table {stream}_meta", "Try again"),
        ("cap", "DescribeTable", RESET_AFTER, "create table {stream}_meta", "try again"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_call_that_always_fails_is_named_with_its_fix_and_the_file_stays(
    site: Site, road: Road, properties: Path, word: str, call: str, fate: Fate, said: str, fix: str
) -> None:
    command = ("--", "echo", "it has begun") if word == "exec" else ()
    road.always = {call: fate}

    done = run(site, road, word, "--properties", str(properties), *command)

    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert said.format(stream=site.stream) in done.stderr
    assert fix in done.stderr
    assert "Traceback" not in done.stderr
    assert properties.read_text() == BEFORE


def test_who_may_not_read_the_log_after_a_lost_answer_is_told_what_to_grant(
    site: Site, road: Road, settings: Settings
) -> None:
    """The log tells whose write it was.  The agreement stands; a start with the grant finds it."""
    log = f"{site.stream}_meta_events"
    road.once = {"TransactWriteItems": RESET_AFTER}
    with denied("dynamodb:GetItem", log), pytest.raises(Invalid, match=log) as told:
        told_at_start(settings)
    assert "grant the role this action on this table" in str(told.value)
    assert told_at_start(settings).max_leases == CAP
    assert site.agreed["version"] == "1"


def test_a_stream_that_is_throttled_for_ever_is_told_after_so_many_tries(
    site: Site, road: Road, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "TRIES_MAX", 3)
    road.always = {"ListShards": refused("LimitExceededException")}

    with pytest.raises(Busy) as told:
        told_at_start(settings)

    assert f"{site.app}: the cap could not be agreed on in 3 tries" in str(told.value)
    assert "LimitExceededException" in str(told.value)
    assert "start the worker again" in str(told.value)
    assert site.rows() == {}


def test_a_read_only_file_is_named_and_left_as_it_is(site: Site, road: Road, properties: Path) -> None:
    os.chmod(properties, 0o444)

    done = run(site, road, "cap", "--properties", str(properties))

    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert f"--properties {properties}: it is read-only: give a file that may be written" in done.stderr
    assert properties.read_text() == BEFORE
    assert os.listdir(properties.parent) == [properties.name]
