"""The formula, its cap, and what is said when shards are left unread."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kernel import Do, Done, Wait, Write
from holdfast.leases import agreement
from holdfast.leases.cap import Cap, View
from holdfast.leases.ports import Apply, Seen


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


def seen(view: View | None, applied: int = 0) -> Seen:
    return Seen(worker_id="worker-1", view=view, applied=applied)


def test_the_first_worker_writes_and_the_others_follow() -> None:
    first = agreement.step(Cap(), seen(View(30, 3)), 0.0)
    assert isinstance(first, Write)
    assert first.value.max_leases_per_worker == 10

    assert agreement.step(first.value, seen(View(30, 3)), 2.0) == Do((Apply("worker-1", View(30, 3)),))
    assert agreement.step(first.value, seen(View(30, 3), applied=10), 4.0) == Done()


def test_counts_that_cannot_be_had_change_nothing() -> None:
    assert isinstance(agreement.step(Cap(View(30, 3)), seen(None), 0.0), Wait)


def test_a_cap_that_leaves_shards_unread_is_said_with_the_workers_needed() -> None:
    written = agreement.step(Cap(View(30, 3)), seen(View(400, 2)), 0.0)

    assert isinstance(written, Write)
    alarm = written.events[1]
    assert (alarm.kind, alarm.numbers["unread"], alarm.numbers["workers_needed"]) == ("shardsUnread", 240, 5)
