"""The formula, its cap, and what is said when shards are left unread."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kernel import Do, Invalid, Wait, Write
from holdfast.leases import agreement, votes
from holdfast.leases.cap import Cap, View, decode, encode, refuse_reserved
from holdfast.leases.ports import Seen
from holdfast.leases.rows import WorkerRow
from holdfast.leases.votes import Counting


@pytest.mark.parametrize(
    ("shards", "workers", "cap"),
    [(30, 3, 10), (60, 3, 20), (60, 5, 12), (1, 9, 1), (300, 2, 80), (81, 1, 80)],
)
def test_the_formula(shards: int, workers: int, cap: int) -> None:
    assert View(shards, workers).max_leases_per_worker == cap


@given(st.integers(1, 5_000), st.integers(1, 200))
def test_every_shard_may_be_read_or_the_shortage_is_counted(shards: int, workers: int) -> None:
    view = View(shards, workers)

    assert view.max_leases_per_worker * workers + view.unread >= shards
    assert View(shards, max(workers, view.workers_needed)).unread == 0


def test_a_view_without_workers_is_refused() -> None:
    with pytest.raises(ValueError, match="not 30 and 0"):
        View(30, 0)


def row(key: str, view: View, agreement: int = 1, **given: Any) -> WorkerRow:
    force = given.pop("max_leases_per_worker", view.max_leases_per_worker)
    return WorkerRow(
        key=key, view=view, max_leases_per_worker=force, agreement=agreement, incarnation="i", **given
    )


AGREED = Cap(View(30, 3), agreement=1)


@pytest.mark.parametrize(
    ("vote", "others", "then"),
    [
        (View(30, 3), [View(30, 3), View(30, 3)], None),
        (View(60, 3), [View(30, 3), View(30, 3)], View(60, 3)),
        (View(30, 4), [View(30, 3), View(30, 4)], None),
        (View(30, 4), [View(30, 4), View(30, 4)], View(30, 4)),
        (View(30, 2), [View(30, 3)], View(30, 2)),
        (View(30, 3), [View(60, 3)], None),
        (View(29, 3), [View(30, 3)], None),
        (View(29, 3), [View(29, 3)], View(29, 3)),
        (View(300, 3, 100), [View(300, 3)], View(300, 3, 100)),
    ],
    ids=str,
)
def test_a_cap_rises_for_ones_own_vote_and_falls_when_all_living_have_seen_why(
    vote: View, others: list[View], then: View | None
) -> None:
    living = tuple(row(f"w-{n}", view) for n, view in enumerate(others))

    assert agreement.next_view(AGREED, vote, living) == then


def test_a_vote_that_is_older_than_the_agreement_lets_nothing_fall() -> None:
    behind = (row("w-1", View(30, 4), agreement=0),)

    assert agreement.next_view(AGREED, View(30, 4), behind) is None
    assert agreement.next_view(AGREED, View(30, 4), (), steady=False) is None


@pytest.mark.parametrize(("vote", "then"), [(View(30, 3), View(60, 3)), (View(90, 3), View(90, 3))], ids=str)
def test_a_number_that_is_recomputed_does_not_fall_for_ones_own_vote(vote: View, then: View) -> None:
    cap = Cap(View(60, 3), agreement=1, stored=99)

    assert agreement.next_view(cap, vote, ()) == then


def seen(vote: View | None, **given: Any) -> Seen:
    return Seen(key="worker-1", incarnation="i", vote=vote, **given)


def test_the_vote_stands_in_the_row_before_it_raises_the_cap() -> None:
    first = agreement.step(AGREED, seen(View(60, 3), row=row("worker-1", View(30, 3))), 0.0)
    assert isinstance(first, Do)
    assert first.effects[0].row.view == View(60, 3)

    then = agreement.step(
        AGREED, seen(View(60, 3), row=row("worker-1", View(60, 3), max_leases_per_worker=10)), 0.0
    )
    assert isinstance(then, Write)
    assert then.value == Cap(View(60, 3), agreement=2)


def test_counts_that_cannot_be_had_change_nothing() -> None:
    assert isinstance(agreement.step(Cap(View(30, 3)), seen(None), 0.0), Wait)


def test_a_cap_that_leaves_shards_unread_is_said_with_the_workers_needed() -> None:
    view = View(400, 2)
    own = row("worker-1", view, max_leases_per_worker=10)

    written = agreement.step(AGREED, seen(view, row=own), 0.0)

    assert isinstance(written, Write)
    alarm = written.events[1]
    assert (alarm.kind, alarm.numbers["unread"], alarm.numbers["workers_needed"]) == ("shardsUnread", 240, 5)
    assert written.value.unread == 240


def test_a_stored_number_that_does_not_follow_from_its_counts_is_recomputed_and_told() -> None:
    damaged = decode({"max_leases_per_worker": 99, "shard_count": 30, "worker_count": 3})
    assert damaged.stored == 99

    written = agreement.step(damaged, seen(View(30, 3), row=row("worker-1", View(30, 3), 0)), 0.0)

    assert isinstance(written, Write)
    assert [str(event.kind) for event in written.events] == ["capRecomputed"]
    assert encode(written.value)["max_leases_per_worker"] == 10


@pytest.mark.parametrize("worker_id", ["my-app_coordinator", "another_coordinator", "", " "])
def test_an_id_that_would_hide_an_agreed_record_is_refused(worker_id: str) -> None:
    with pytest.raises(Invalid, match="worker_id"):
        refuse_reserved(worker_id)


def counted(*looks: tuple[float, int]) -> int | None:
    """What is voted for after these looks, each at its time, with two of them ten seconds apart to agree."""
    counting = Counting()
    for at_s, shards in looks:
        counting = votes.count_shards(counting, shards, at_s, apart_s=10.0)
    return counting.shards


@pytest.mark.parametrize(
    ("looks", "shards"),
    [
        ([(0, 30), (1, 60)], 60),
        ([(0, 30), (5, 15)], 30),
        ([(0, 30), (5, 15), (14, 15)], 30),
        ([(0, 30), (5, 15), (15, 15)], 15),
        ([(0, 30), (5, 15), (10, 16), (15, 15)], 30),
        ([(0, 30), (5, 15), (10, 30), (16, 15)], 30),
        ([(0, 30), (5, 15), (10, 30), (16, 15), (26, 15)], 15),
    ],
    ids=str,
)
def test_fewer_shards_count_when_two_looks_far_enough_apart_agree_and_none_between_differs(
    looks: list[tuple[float, int]], shards: int
) -> None:
    assert counted(*looks) == shards
