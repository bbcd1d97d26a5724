"""What a KCL is told: every lease row counts, and workers that may be missing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.leases.cap import View
from holdfast.leases.lease_rows import NO_LEASES, Lease, in_numbers
from holdfast.leases.told import told_leases


@pytest.mark.parametrize(
    ("agreed", "rows", "headroom", "told"),
    [
        (View(30, 3), 0, 0, 10),
        (View(8, 1), 12, 0, 12),
        (View(30, 3), 30, 1, 15),
        (View(30, 1), 30, 1, 30),
        (View(30, 3), 0, 9, 30),
        (View(300, 2), 330, 0, 80),
        (View(300, 2, 200), 330, 0, 165),
    ],
)
def test_the_told_number(agreed: View, rows: int, headroom: int, told: int) -> None:
    assert told_leases(agreed, lease_rows=rows, headroom_workers=headroom) == told


@given(st.integers(1, 500), st.integers(1, 50), st.integers(0, 900), st.integers(0, 60))
def test_a_kcl_is_never_told_less_than_is_agreed(shards: int, workers: int, rows: int, headroom: int) -> None:
    agreed = View(shards, workers)

    told = told_leases(agreed, lease_rows=rows, headroom_workers=headroom)

    assert agreed.max_leases_per_worker <= told <= agreed.limit


def test_ended_parents_fill_the_table_and_only_what_can_be_read_now_is_readable() -> None:
    ended = [Lease(f"shard-{n}", "SHARD_END", "w-1") for n in range(3)]
    draining = Lease("shard-3", "4711", "w-1")
    children = [
        Lease("shard-4", "TRIM_HORIZON", "w-2", frozenset({"shard-0"})),
        Lease("shard-5", "TRIM_HORIZON", "", frozenset({"shard-2", "shard-3"})),
        Lease("shard-6", "TRIM_HORIZON", "", frozenset({"long-deleted"})),
    ]

    table = in_numbers([*ended, draining, *children])

    assert (table.rows, table.readable) == (7, 3), "shard-5 waits for shard-3"
    assert table.holds == {"w-1": 1, "w-2": 1}
    assert in_numbers([]) == NO_LEASES
