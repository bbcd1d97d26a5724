"""What must come out well, each in a few beats: run with the shipped workers, or with a guard taken out."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from holdfast.kernel import HoldfastError
from holdfast.leases.cap import View
from holdfast.leases.lease_rows import Lease
from holdfast.leases.worker.live import LiveWorker
from holdfast.leases.worker.start import StartWorker
from holdfast.sim.gated import Straight
from tests.leases.model.fleet import SETTINGS, SUBJECT, Counts, Fleet

Live = Callable[..., LiveWorker]
Start = Callable[..., StartWorker]
Story = Callable[[Live, Start], bool]


def three(live: Live, start: Start = StartWorker, **given: Any) -> Fleet:
    fleet = Fleet(Straight(), live=live, start=start, **given)
    for n in (1, 2, 3):
        fleet.join(f"worker-{n}")
    fleet.beat(3)
    return fleet


def the_loser_of_a_write_uses_what_stands_there(live: Live, start: Start) -> bool:
    fleet = Fleet(Straight(), start=start)
    commit, waiting = fleet.caps.commit, [90]

    def overtaken(*given: Any) -> Any:
        if waiting:
            fleet.stream.shards = waiting.pop()
            fleet.start("worker-2")
        return commit(*given)

    fleet.caps.commit = overtaken  # type: ignore[method-assign,assignment]
    cap = fleet.start("worker-1")
    return cap.max_leases_per_worker == 30 == fleet.cap.max_leases_per_worker


def a_reshard_reaches_workers_that_do_not_restart(live: Live, start: Start) -> bool:
    fleet = Fleet(Straight(), expected=1, live=live)
    applied: list[int] = []
    worker = live(
        fleet.ports(),
        replace(SETTINGS, worker_id="worker-1"),
        apply=lambda cap: applied.append(cap.max_leases_per_worker),
    )
    fleet.workers["worker-1"] = worker
    fleet.beat(2)
    fleet.stream.shards = 60
    fleet.beat(4)
    return applied[-1:] == [60]


def an_unknown_number_of_workers_is_not_one(live: Live, start: Start) -> bool:
    fleet = three(live, start)
    fleet.stream.known = False
    fleet.beat(6)
    try:
        fleet.start("old-worker")
    except HoldfastError:
        return False
    return fleet.agreed == View(30, 3) and fleet.version == 1


def an_unknown_number_is_never_written(live: Live, start: Start) -> bool:
    fleet = Fleet(Straight(), start=start)
    fleet.stream.known = False
    try:
        fleet.start("worker-1")
    except HoldfastError:
        return fleet.version == 0
    return False


def a_dead_worker_is_noticed_though_it_is_still_expected(live: Live, start: Start) -> bool:
    fleet = three(live)
    del fleet.workers["worker-3"]
    fleet.beat(8)
    return fleet.agreed == View(30, 2)


def no_table_for_a_while_kills_none(live: Live, start: Start) -> bool:
    """All are cut off; the first that reaches the table again has not looked for ten minutes."""
    fleet = three(live)
    fleet.pulse("worker-1")
    fleet.clock.mono += 600
    fleet.pulse("worker-1")
    fleet.beat(3)
    return fleet.version == 1


def two_that_differ_do_not_take_turns(live: Live, start: Start) -> bool:
    fleet = three(live)
    fleet.join("worker-1", max_leases_limit=5)
    fleet.beat(12)
    return fleet.version <= 2


def a_surge_does_not_lower_the_cap(live: Live, start: Start) -> bool:
    fleet = three(live)
    fleet.join("surge-1")
    fleet.beat(6)
    return fleet.version == 1


def the_first_of_three_does_not_take_all(live: Live, start: Start) -> bool:
    fleet = Fleet(Straight(), live=live)
    fleet.join("worker-1")
    fleet.beat(4)
    return fleet.agreed == View(30, 3)


def parents_that_are_still_read_count(live: Live, start: Start) -> bool:
    """A merge of eight into four: all eight parents are still read."""
    fleet = Fleet(Straight(), shards=4, expected=1, live=live)
    worker = fleet.join("worker-1")
    counts = worker.ports.shards
    assert isinstance(counts, Counts)
    counts.lease_rows += [Lease(f"shard-{n}", "4711") for n in range(8)]
    fleet.beat(2)
    return fleet.agreed == View(8, 1)


def one_bad_row_stops_no_worker(live: Live, start: Start) -> bool:
    fleet = three(live)
    named = {"app_name": "my-app", "stream_name": "orders"}
    fleet.caps.worker_items["broken"] = {**named, "shard_count": "many"}
    fleet.stream.shards = 60
    fleet.beat(4)
    return fleet.agreed == View(60, 3)


def the_older_of_two_under_one_id_stops(live: Live, start: Start) -> bool:
    fleet = three(live)
    older = fleet.workers["worker-1"]
    fleet.join("worker-1")
    fleet.beat(1)
    fleet.clock.mono += 5
    try:
        older.pulse()
    except HoldfastError:
        return True
    return False


def shards_between_two_counts_are_not_believed(live: Live, start: Start) -> bool:
    fleet = three(live)
    fleet.stream.shards = 15
    fleet.beat(2)
    fleet.stream.shards = 30
    fleet.beat(4)
    return fleet.version == 1


def a_stored_number_that_does_not_follow_is_recomputed(live: Live, start: Start) -> bool:
    fleet = Fleet(Straight(), expected=1, live=live)
    fleet.caps.items[SUBJECT] = {"max_leases_per_worker": 99, "shard_count": 30, "worker_count": 1}
    fleet.join("worker-1")
    fleet.beat(3)
    return fleet.told() == ["capRecomputed"]


def shards_beyond_the_limit_are_said(live: Live, start: Start) -> bool:
    fleet = three(live, shards=400)
    return "shardsUnread" in fleet.told() and fleet.cap.unread == 160


def a_start_beside_live_workers_lowers_nothing(live: Live, start: Start) -> bool:
    fleet = three(live, start)
    fleet.workers.pop("worker-3").leave()
    fleet.beat(3)
    fleet.start("old-worker")
    return fleet.agreed == View(30, 2)


def a_quiet_world_is_silent(live: Live, start: Start) -> bool:
    fleet = three(live)
    fleet.beat(12)
    return fleet.version == 1 and fleet.agreed == View(30, 3)
