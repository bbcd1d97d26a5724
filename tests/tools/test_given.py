"""How much of two cores a run was given: what it used itself is not taken from it."""

import os

import pytest

from tools.endure import given
from tools.endure.given import Moment

BEFORE = Moment(at_s=100, busy_s=1_000, stolen_s=10, ours_s=50)


@pytest.mark.parametrize(
    ("busy_s", "stolen_s", "ours_s", "share"),
    [(0, 0, 0, 1.0), (20, 0, 20, 1.0), (20, 0, 10, 0.5), (10, 5, 10, 0.75), (20, 20, 0, 0.0)],
    ids=["idle", "all is ours", "a neighbour has a core", "a quarter is stolen", "nothing is left"],
)
def test_what_others_and_the_hypervisor_had_is_missing(
    monkeypatch: pytest.MonkeyPatch, busy_s: float, stolen_s: float, ours_s: float, share: float
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    later = Moment(110, BEFORE.busy_s + busy_s, BEFORE.stolen_s + stolen_s, BEFORE.ours_s + ours_s)

    assert BEFORE.share_until(later) == pytest.approx(share)


def test_a_large_machine_gives_two_cores_though_others_use_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    later = Moment(110, BEFORE.busy_s + 40, BEFORE.stolen_s, BEFORE.ours_s)

    assert BEFORE.share_until(later) == 1.0


def test_our_own_work_is_found_in_the_counters_of_the_kernel() -> None:
    before = after = given.moment("no process has this in its environment")
    for _ in range(10_000):
        if after.ours_s > before.ours_s:
            break
        sum(range(100_000))
        after = given.moment("no process has this in its environment")

    assert after.ours_s > before.ours_s
    assert after.busy_s >= before.busy_s
