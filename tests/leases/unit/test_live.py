"""Live workers on one table: they come, beat, die, pause and leave, and the cap follows."""

from itertools import cycle

import pytest

from holdfast.kernel import Versioned, Write
from holdfast.leases.cap import Cap, View
from holdfast.leases.ports import WriteRow
from holdfast.leases.rows import WorkerRow
from holdfast.leases.worker.live import Superseded
from holdfast.sim.gated import Straight
from tests.leases.model.fleet import SUBJECT, Fleet

TTL_BEATS = 5
"""A beat is seen at the next look at the latest, and dead twenty seconds after that."""


def three(expected: int = 3) -> Fleet:
    fleet = Fleet(Straight(), expected=expected)
    for n in (1, 2, 3):
        fleet.join(f"worker-{n}")
    fleet.beat(2)
    assert fleet.agreed == View(30, 3)
    return fleet


def two(shards: int) -> Fleet:
    fleet = Fleet(Straight(), expected=2, shards=shards)
    for n in (1, 2):
        fleet.join(f"worker-{n}")
    fleet.beat(2)
    assert fleet.agreed == View(shards, 2)
    return fleet


def test_three_workers_agree_once_and_each_has_the_cap_in_force() -> None:
    fleet = three()

    assert fleet.version == 1
    assert fleet.in_force() == {"worker-1": 10, "worker-2": 10, "worker-3": 10}


def test_the_first_of_three_does_not_take_all() -> None:
    fleet = Fleet(Straight())
    fleet.join("worker-1")
    fleet.beat(5)

    assert fleet.agreed == View(30, 3)


def test_it_is_not_waited_for_ever_for_workers_that_never_come() -> None:
    fleet = Fleet(Straight())
    fleet.join("worker-1")
    fleet.beat(14)

    assert fleet.agreed == View(30, 1)


def test_a_fourth_worker_lowers_the_cap_once_all_have_seen_it() -> None:
    fleet = three()
    fleet.stream.expected = 4
    fleet.join("worker-4")
    fleet.beat(4)

    assert fleet.agreed == View(30, 4)
    assert (fleet.version, set(fleet.in_force().values())) == (2, {8})


def test_more_shards_count_at_once_and_fewer_when_two_looks_agree() -> None:
    fleet = three()
    fleet.stream.shards = 60
    fleet.beat(3)
    assert fleet.agreed == View(60, 3)

    fleet.stream.shards = 45
    fleet.beat(2)
    assert fleet.agreed == View(60, 3)
    fleet.stream.shards = 30
    fleet.beat(2)
    assert fleet.agreed == View(60, 3), "it was 45, and is 30: no two looks agree yet"
    fleet.beat(4)
    assert fleet.agreed == View(30, 3)
    assert fleet.version == 3


def test_a_vote_that_is_written_in_the_instant_of_a_fall_is_raised_by_its_own_worker_at_once() -> None:
    """S-K3 is about votes that stood there when the one that lowers the cap looked: see decision 0039."""
    fleet = two(shards=60)
    fleet.stream.shards = fleet.stream.before = 30
    commit, late = fleet.caps.commit, list[str]()

    def in_between(subject: str, found: Versioned[Cap], write: Write[Cap], commit_id: str) -> Versioned[Cap]:
        if not late:
            (other,) = {"worker-1", "worker-2"} - {write.events[0].about}
            late.append(other)
            fleet.stream.shards = fleet.stream.before = 60
            fleet.clock.mono += fleet.settings.count_s
            fleet.pulse(other)  # 30 is still agreed, so that its vote is all it writes
            fleet.clock.mono -= fleet.settings.count_s  # the first one does not count anew in this pulse
        return commit(subject, found, write, commit_id)

    fleet.caps.commit = in_between  # type: ignore[method-assign]
    for worker in cycle(fleet.workers):
        fleet.clock.mono += fleet.settings.heartbeat_s
        fleet.pulse(worker)
        if late:
            break
    assert fleet.agreed == View(30, 2), "it fell, and the vote for 60 was not seen"
    assert fleet.rows().own[late[0]].view == View(60, 2)

    fleet.pulse(late[0])

    assert fleet.agreed == View(60, 2)


def test_a_dead_worker_is_noticed_by_its_beat_though_its_owner_still_expects_it() -> None:
    fleet = three()
    del fleet.workers["worker-3"]
    fleet.beat(TTL_BEATS - 1)
    assert fleet.agreed == View(30, 3)
    fleet.beat(2)

    assert fleet.agreed == View(30, 2)
    assert fleet.version == 2, "both survivors saw it, and one wrote it"


def test_who_leaves_is_not_waited_for() -> None:
    fleet = three()
    fleet.workers.pop("worker-3").leave()
    fleet.beat(2)

    assert fleet.agreed == View(30, 2)


def test_a_worker_that_was_stopped_finds_nobody_dead_when_it_wakes() -> None:
    fleet = three()
    asleep = fleet.workers.pop("worker-3")
    fleet.beat(8)
    assert fleet.agreed == View(30, 2)

    before = fleet.version
    fleet.workers["worker-3"] = asleep
    fleet.beat(4)

    assert fleet.agreed == View(30, 3)
    assert fleet.version == before + 1, "it voted for three at once, not for itself alone"


def test_no_table_for_a_while_kills_nobody() -> None:
    fleet = three()
    fleet.clock.mono += 600
    fleet.beat(3)

    assert (fleet.agreed, fleet.version) == (View(30, 3), 1)


def test_a_quiet_world_commits_nothing_and_one_write_is_one_beat() -> None:
    fleet = three()
    beats = {key: row.heartbeat for key, row in fleet.rows().own.items()}
    fleet.beat(20)

    assert fleet.version == 1
    assert {key: row.heartbeat - beats[key] for key, row in fleet.rows().own.items()} == dict.fromkeys(
        beats, 20
    )


def test_two_that_differ_for_ever_do_not_take_turns() -> None:
    fleet = three()
    fleet.join("worker-1", max_leases_limit=5)
    fleet.beat(20)

    assert fleet.version <= 2
    assert fleet.cap.max_leases_per_worker == 10


def test_more_living_than_expected_do_not_lower_the_cap() -> None:
    fleet = three()
    fleet.join("surge-1")
    fleet.beat(6)

    assert (fleet.agreed, fleet.version) == (View(30, 3), 1)


def test_an_owner_that_does_not_answer_is_not_one_worker() -> None:
    fleet = three()
    fleet.stream.known = False
    fleet.beat(6)

    assert (fleet.agreed, fleet.version) == (View(30, 3), 1)
    assert fleet.workers["worker-1"].problems == ("the owner does not answer",)


def test_one_id_twice_the_newer_stays_and_the_older_says_why() -> None:
    fleet = three()
    older = fleet.workers["worker-1"]
    fleet.join("worker-1")
    fleet.beat(1)

    fleet.clock.mono += 5
    with pytest.raises(Superseded, match="another process has joined under this id"):
        older.pulse()
    fleet.beat(2)
    assert len(fleet.rows().own) == 3


def test_a_row_that_was_deleted_by_hand_is_written_again() -> None:
    fleet = three()
    fleet.caps.worker_items.pop("worker-2")
    fleet.beat(3)

    assert set(fleet.in_force()) == {"worker-1", "worker-2", "worker-3"}


def test_a_damaged_row_is_named_and_stops_nobody() -> None:
    fleet = three()
    named = {"app_name": "my-app", "stream_name": "orders"}
    fleet.caps.worker_items["broken"] = {**named, "shard_count": "many"}
    fleet.stream.shards = 60
    fleet.beat(3)

    assert fleet.agreed == View(60, 3)
    assert "broken" in fleet.workers["worker-1"].problems[0]
    assert fleet.caps.worker_items["broken"]["shard_count"] == "many"


def test_a_worker_whose_own_row_makes_no_sense_takes_another() -> None:
    fleet = Fleet(Straight(), expected=1)
    fleet.caps.worker_items["worker-1"] = {"app_name": "my-app", "stream_name": "orders"}
    fleet.join("worker-1")
    fleet.beat(2)

    assert fleet.in_force() == {"my-app/worker-1": 30}


def test_a_start_only_worker_beside_live_ones_lowers_nothing() -> None:
    fleet = three()
    fleet.workers.pop("worker-3").leave()
    fleet.beat(3)
    assert fleet.agreed == View(30, 2)

    assert fleet.start("old-worker").max_leases_per_worker == 15

    version = fleet.version
    fleet.beat(TTL_BEATS + 3)
    assert (fleet.agreed, fleet.version) == (View(30, 2), version), "nor does its row, while it seems alive"


def test_what_the_living_may_not_hold_is_an_alarm_and_its_end_is_told() -> None:
    fleet = three()
    worker = fleet.workers["worker-1"]
    worker.told = 4
    for _ in range(TTL_BEATS + 2):
        fleet.beat()
    alarm = next(logged.event for logged in fleet.events() if logged.event.kind == "shardsUnread")
    assert (fleet.cap.unread, alarm.numbers) == (6, {"unread": 6, "workers_needed": 1})

    worker.told = 10
    fleet.beat(TTL_BEATS + 2)

    assert fleet.cap.unread == 0
    assert fleet.told() == ["capAgreed", "shardsUnread", "shardsRead"]


def test_ended_rows_count_where_a_kcl_holds_them() -> None:
    from holdfast.leases.alarm import unread_now

    kcl = WorkerRow(key="w", view=View(8, 1), max_leases_per_worker=8, told=8, incarnation="i")
    python = WorkerRow(key="w", view=View(8, 1), max_leases_per_worker=8, incarnation="i")

    assert (unread_now(View(8, 1), 12, [kcl]), unread_now(View(8, 1), 12, [python])) == (4, 0)


def test_a_seed_style_row_is_taken_over() -> None:
    fleet = Fleet(Straight(), expected=1)
    fleet.caps.items[SUBJECT] = {"max_leases_per_worker": 99, "shard_count": 30, "worker_count": 1}
    old = WorkerRow(key="worker-1", view=View(30, 1), max_leases_per_worker=30)
    fleet.caps.write_row(WriteRow(old, None, news=True), 0.0)
    fleet.join("worker-1")
    fleet.beat(2)

    assert (fleet.agreed, fleet.cap.stored) == (View(30, 1), None)
    assert fleet.told() == ["capRecomputed"]
    assert fleet.rows().own["worker-1"].beats
