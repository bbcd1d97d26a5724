"""Who is alive, by one's own looks; and what an old look must not do."""

from dataclasses import replace
from functools import partial

import pytest

from holdfast.kernel import Invalid
from holdfast.leases.cap import View
from holdfast.leases.membership import Members, look
from holdfast.leases.rows import WorkerRow
from holdfast.leases.worker.live import LiveWorker, Superseded
from holdfast.sim.gated import Straight
from tests.leases.broken.stories import three
from tests.leases.model.fleet import SUBJECT, Fleet

ROW = WorkerRow(key="w", view=View(30, 3), max_leases_per_worker=10, incarnation="one", heartbeat=9)


def looked(*rows: WorkerRow) -> Members:
    """After looks that are five seconds apart."""
    members = Members()
    for n, row in enumerate(rows):
        members = look(members, {"w": row}, 5.0 * n, gap_max_s=10.0)
    return members


def test_another_process_of_an_id_is_alive_however_low_its_count() -> None:
    members = looked(ROW, ROW, replace(ROW, incarnation="two", heartbeat=1))

    assert (members.seen["w"].unmoved_s, members.seen["w"].row.incarnation) == (0.0, "two")


def test_an_old_look_is_no_sign_of_life_and_takes_no_vote_back() -> None:
    newer = replace(ROW, heartbeat=10, view=View(60, 3))
    members = looked(ROW, newer, ROW)

    assert (members.seen["w"].unmoved_s, members.seen["w"].row) == (5.0, newer)


def test_an_old_look_alone_does_not_stop_a_worker() -> None:
    """It shows the row of the process before this one; no beat was refused."""
    fleet = three(LiveWorker)
    before = fleet.rows()
    worker = fleet.join("worker-1")
    fleet.beat(2)
    rows, shown = fleet.caps.rows, [before]
    fleet.caps.rows = lambda: shown.pop() if shown else rows()  # type: ignore[method-assign]
    fleet.beat(1)

    assert shown == []
    assert fleet.rows().own["worker-1"].incarnation == worker.incarnation
    assert fleet.version == 1


def test_one_that_was_refused_has_no_row_to_delete() -> None:
    fleet = three(LiveWorker)
    older = fleet.workers["worker-1"]
    fleet.join("worker-1")
    fleet.beat(1)
    fleet.clock.mono += 5
    with pytest.raises(Superseded):
        older.pulse()
    older.leave()

    assert older.row is None
    assert len(fleet.rows().own) == 3


def test_before_the_expected_came_nothing_is_said_to_be_unread() -> None:
    fleet = Fleet(Straight())
    fleet.join("worker-1")
    fleet.beat(11)
    assert fleet.told() == ["capAgreed"]
    fleet.beat(3)

    assert fleet.agreed == View(30, 1), "they were waited for, and did not come"


@pytest.mark.parametrize("how", ["join", "start"])
def test_an_id_that_would_hide_an_agreed_record_is_refused(how: str) -> None:
    fleet = Fleet(Straight())

    with pytest.raises(Invalid, match="choose another worker id"):
        getattr(fleet, how)("other-app_coordinator")
    assert (fleet.version, fleet.in_force()) == (0, {})


@pytest.mark.parametrize("how", ["live", "start"])
def test_an_agreed_row_of_another_stream_is_refused_naming_both(how: str) -> None:
    fleet = Fleet(Straight())
    counts = {"max_leases_per_worker": 10, "shard_count": 30, "worker_count": 3}
    fleet.caps.items[SUBJECT] = {**counts, "stream_name": "payments"}

    begin = fleet.join("worker-1").pulse if how == "live" else partial(fleet.start, "worker-1")
    with pytest.raises(Invalid, match=r"stream 'payments', not of app 'my-app' and stream 'orders'"):
        begin()
    assert fleet.in_force() == {}
