"""Many shards, many apps and streams, equal ids, rows of other hands: each is right, and no row is lost."""

import logging
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from holdfast.app.leases import open_store
from holdfast.kernel import Invalid
from holdfast.leases.cap import coordinator
from holdfast.leases.settings.load import load
from holdfast.stream.live import LiveCap
from holdfast.stream.told import told_at_start
from tests.real.product.leases import dynamodbs
from tests.real.product.leases.site import Site
from tests.real.traces import wait_until


@pytest.fixture(autouse=True)
def signed_in(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    dynamodbs.sign_in(monkeypatch, site.environment("any"))


def cap(site: Site, workers: int = 3, worker_id: str = "worker-1", **more: str) -> int:
    """What `leases cap` would print."""
    environment = site.environment(worker_id, KDS_WORKER_COUNT=str(workers), **more)
    return told_at_start(load({}, environment).settings).max_leases


def put(site: Site, **row: Any) -> dict[str, Any]:
    """A row of another hand, with DynamoDB's tags; as it was put."""
    site.tables.put_item(TableName=f"{site.stream}_meta", Item=row)
    return row


def stands(site: Site, key: str) -> dict[str, Any] | None:
    found: dict[str, Any] | None = site.tables.get_item(
        TableName=f"{site.stream}_meta", Key={"worker_id": {"S": key}}, ConsistentRead=True
    ).get("Item")
    return found


def make_table(site: Site, key: str) -> None:
    site.tables.create_table(
        TableName=f"{site.stream}_meta",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
        KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
    )


def seed_row(site: Site, key: str, leases: str) -> dict[str, Any]:
    return {
        "worker_id": {"S": key},
        "max_leases_per_worker": {"N": leases},
        "stream_name": {"S": site.stream},
        "app_name": {"S": site.app},
        "shard_count": {"N": "30"},
        "worker_count": {"N": "3"},
        "last_update_time": {"S": "2025-11-19T10:00:00Z"},
    }


def test_a_stream_of_many_pages_is_counted_whole(site: Site) -> None:
    """No more than a thousand can be made at once."""
    site.streams.make(site.stream, 600)
    site.streams.reshard(site.stream, 1_200)

    assert cap(site) == 80
    agreed = site.agreed
    assert (agreed["shard_count"], agreed["unread"]) == ("1200", "960")
    site.streams.client.delete_stream(StreamName=site.stream)


def test_apps_streams_and_ids_do_not_collide(site: Site) -> None:
    other = f"{site.stream}-b"
    for name, shards in ((site.stream, 30), (other, 12)):
        site.streams.make(name, shards)

    assert cap(site) == 10
    assert cap(site, APP_NAME="other-app") == 10
    assert cap(site, STREAM_NAME=other) == 4

    rows = site.rows()
    assert set(rows) == {
        f"{site.app}_coordinator", "worker-1", "other-app_coordinator", "other-app/worker-1",
    }  # fmt: skip
    assert rows["worker-1"]["app_name"] == site.app
    with pytest.raises(Invalid, match="META_TABLE") as told:
        cap(site, STREAM_NAME=other, META_TABLE=f"{site.stream}_meta")
    assert other in str(told.value)
    assert site.rows() == rows


def test_two_apps_with_live_workers_of_one_id_live_side_by_side(site: Site) -> None:
    site.streams.make(site.stream, 4)
    other = replace(site, app=f"{site.app}-b")
    with ExitStack() as closing:
        both = [
            closing.enter_context(
                LiveCap(settings=load({}, here.environment("worker-1", KDS_WORKER_COUNT="1")).settings)
            )
            for here in (site, other)
        ]
        wait_until(
            lambda: sum(int(row.get("heartbeat", 0)) > 3 for row in site.rows().values()) == 2,
            "both beat on rows of their own",
        )
        assert [live.stopped for live in both] == [False, False]
    assert set(site.rows()) == {f"{site.app}_coordinator", f"{other.app}_coordinator"}


def test_rows_of_the_seed_are_taken_over_and_a_number_that_does_not_follow_is_recomputed(site: Site) -> None:
    site.streams.make(site.stream, 30)
    make_table(site, "worker_id")
    put(site, **seed_row(site, f"{site.app}_coordinator", "99"))
    before = put(site, **seed_row(site, "worker-9", "10"))

    assert cap(site) == 10
    assert site.agreed["max_leases_per_worker"] == "10"
    assert cap(site, 2) == 15
    assert (site.agreed["max_leases_per_worker"], site.agreed["version"]) == ("15", "2")
    assert stands(site, "worker-9") == before, "another's row is left as it is"
    assert cap(site, 2, "worker-9") == 15
    assert site.rows()["worker-9"]["max_leases_per_worker"] == "15"
    with open_store(load({}, site.environment("any")).settings) as opened:
        told = [each.event.reason for each in opened.store.events(coordinator(site.app))]
    assert told == ["99 was stored beside 30/3", "30/3 → 30/2"]


DAMAGE: list[dict[str, Any]] = [
    {"max_leases_per_worker": {"S": "ten"}},
    {"shard_count": {"N": "0"}},
    {"worker_count": {"N": "-1"}},
    {"shard_count": {"L": []}},
    {"heartbeat": {"S": "often"}},
]


def test_damaged_rows_are_named_and_left_alone_and_stop_no_worker(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.streams.make(site.stream, 30)
    assert cap(site) == 10
    damaged = {
        key: put(site, **{**seed_row(site, key, "10"), **damage})
        for key, damage in ((f"damaged-{n}", damage) for n, damage in enumerate(DAMAGE))
    }
    with caplog.at_level(logging.WARNING):
        assert cap(site, 2) == 15
    assert [key for key in damaged if key not in caplog.text] == []
    assert cap(site, 2, "damaged-0") == 15, "its own worker stands beside it"
    assert {key: stands(site, key) for key in damaged} == damaged


def test_a_table_with_another_key_is_refused_and_both_keys_are_named(site: Site) -> None:
    site.streams.make(site.stream, 3)
    make_table(site, "leaseKey")
    done = site.run("cap", KDS_WORKER_COUNT="1")
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert f"table {site.stream}_meta has the key leaseKey, not worker_id" in done.stderr
    assert "name another table" in done.stderr
    assert "Traceback" not in done.stderr
    assert site.tables.scan(TableName=f"{site.stream}_meta")["Count"] == 0
