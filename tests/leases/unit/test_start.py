"""Start-only: the seed's walk-through, its log lines, and what becomes of losers."""

import pytest

from holdfast.kernel import Invalid
from holdfast.leases.cap import View
from holdfast.leases.ports import WriteRow
from holdfast.sim.gated import Straight
from tests.leases.model.fleet import SUBJECT, Fleet

FIRST = """\
Initializing max leases per worker  stream=kds-stream-prod app=my-app worker=worker-1
Retrieved current system state  currentShardCount=60 currentWorkerCount=3
Detected configuration change, recalculating max leases per worker  oldShardCount=30 newShardCount=60 \
oldWorkerCount=3 newWorkerCount=3 oldMaxLeases=10
Calculated max leases per worker  shardCount=60 workerCount=3 shardsPerWorker=20 maxLeasesPerWorker=20
Successfully updated coordinator metadata  coordinatorKey=my-app_coordinator newMaxLeasesPerWorker=20
Successfully initialized dynamic max leases per worker  maxLeasesPerWorker=20"""
SECOND = """\
Initializing max leases per worker  stream=kds-stream-prod app=my-app worker=worker-2
Retrieved current system state  currentShardCount=60 currentWorkerCount=3
Configuration unchanged, using existing coordinator metadata  maxLeasesPerWorker=20 shardCount=60 \
workerCount=3
Successfully initialized dynamic max leases per worker  maxLeasesPerWorker=20"""


@pytest.fixture
def fleet() -> Fleet:
    from dataclasses import replace

    from tests.leases.model.fleet import SETTINGS

    return Fleet(Straight(), settings=replace(SETTINGS, stream_name="kds-stream-prod"))


def test_the_walk_through_and_its_lines(fleet: Fleet) -> None:
    for worker in ("worker-1", "worker-2", "worker-3"):
        assert fleet.start(worker).max_leases_per_worker == 10
    fleet.stream.shards = 60
    assert fleet.in_force() == dict.fromkeys(("worker-1", "worker-2", "worker-3"), 10)

    fleet.lines.clear()
    assert fleet.start("worker-1").max_leases_per_worker == 20
    assert "\n".join(fleet.lines) == FIRST
    assert fleet.in_force() == {"worker-1": 20, "worker-2": 10, "worker-3": 10}
    fleet.lines.clear()
    assert fleet.start("worker-2").max_leases_per_worker == 20
    assert "\n".join(fleet.lines) == SECOND
    assert fleet.version == 2


@pytest.mark.parametrize(("shards", "before"), [(30, None), (60, 30)])
def test_who_loses_a_create_or_an_update_reads_again_and_uses_what_stands_there(
    fleet: Fleet, shards: int, before: int | None
) -> None:
    if before:
        fleet.start("worker-1")
    fleet.stream.shards = shards
    commit, waiting = fleet.caps.commit, ["worker-2"]

    def overtaken(*given: object, **named: object) -> object:
        if waiting:
            fleet.start(waiting.pop())
        return commit(*given, **named)  # type: ignore[arg-type]

    fleet.caps.commit = overtaken  # type: ignore[method-assign,assignment]
    fleet.lines.clear()
    cap = fleet.start("worker-3")

    assert (cap.view, fleet.version) == (View(shards, 3), 2 if before else 1)
    assert "Another worker already updated coordinator metadata" in fleet.lines
    assert fleet.lines[-2].startswith("Configuration unchanged, using existing coordinator metadata")


def test_an_unknown_number_of_workers_is_never_written(fleet: Fleet) -> None:
    fleet.stream.known = False
    with pytest.raises(Invalid, match="the owner does not answer"):
        fleet.start("worker-1")
    assert (fleet.version, fleet.in_force()) == (0, {})

    fleet.stream.known = True
    fleet.start("worker-1")
    fleet.stream.known, fleet.stream.shards = False, 60
    assert fleet.start("worker-2").max_leases_per_worker == 10, "what is agreed holds"
    assert fleet.version == 1


def test_a_number_that_does_not_follow_is_recomputed(fleet: Fleet) -> None:
    fleet.caps.items[SUBJECT] = {"max_leases_per_worker": 99, "shard_count": 30, "worker_count": 3}

    assert fleet.start("worker-1").max_leases_per_worker == 10
    assert fleet.told() == ["capRecomputed"]
    assert "oldMaxLeases=99" in fleet.lines[2]


def test_the_alarm_of_a_limit_ends_with_the_counts_that_raised_it(fleet: Fleet) -> None:
    fleet.stream.shards = 300
    fleet.start("worker-1")
    assert fleet.cap.unread == 60
    fleet.stream.shards = 30
    fleet.start("worker-1")

    assert fleet.told() == ["capAgreed", "shardsUnread", "capAgreed", "shardsRead"]


def test_a_row_that_comes_between_look_and_write_is_looked_at_and_left(fleet: Fleet) -> None:
    write, foreign = fleet.caps.write_row, {"app_name": "other-app", "stream_name": "kds-stream-prod"}

    def overtaken(effect: WriteRow, at_s: float) -> None:
        fleet.caps.worker_items.setdefault("worker-1", foreign)
        write(effect, at_s)

    fleet.caps.write_row = overtaken  # type: ignore[method-assign]
    fleet.start("worker-1")

    assert fleet.in_force() == {"my-app/worker-1": 10}
    assert fleet.caps.worker_items["worker-1"] == foreign


def test_beside_living_workers_a_start_raises_the_cap_at_once(fleet: Fleet) -> None:
    for n in (1, 2, 3):
        fleet.join(f"worker-{n}")
    fleet.beat(3)
    fleet.stream.shards = 60

    assert fleet.start("old-worker").max_leases_per_worker == 20
