"""A year of bad days, drawn from seeds: what the cloud and the cluster do, and listings that lie about them.

In every other seed calls fail besides, answers get lost and processes die.
"""

from collections import Counter

import pytest

from holdfast.autoscaler import codec
from holdfast.sim.living import live_badly
from holdfast.sim.memory import MemoryItems
from holdfast.sim.scenarios.bad_days import BadDays
from holdfast.sim.world import START_S, World
from tests.deep import cases
from tests.proof import prove
from tests.seeds import of_this_commit

HOURS = 24
YEAR, MONTH, OF_COMMIT = range(365), range(30), 20
"""A year is these seeds one after the other.  A month of it is lived before each commit; with the year also
days that the commit draws, which no person has seen before."""
FOUND = (21, 33, 61, 89, 152, 165, 171, 274, 287, 291, 374, 1_130, 1_222, 1_493, 1_555, 45_067_708)
"""Days on which something was found that is mended now.  What was mended has a test of its own: most of these
days are left to the year."""
LATELY = (274, 1_493, 1_555)
EVERY = {
    "spot_dries",
    "quota_is_cut",
    "subnet_fills",
    "hints_come",
    "kubelet_hangs",
    "pods_never_run",
    "pool_breaks",
    "another_cluster_answers",
    "machine_is_protected",
    "another_cluster",
    "empty_lists",
    "nodes_missing",
    "machines_missing",
    "tags_rewritten",
    "tags_forged",
    "node_deleted",
    "nodes_deleted",
    "table_restored",
}


@pytest.mark.parametrize("seed", cases(YEAR, deep=YEAR[len(MONTH) :]))
def test_whatever_befalls_the_fleet_it_gets_through(seed: int) -> None:
    bad_day(seed)


@pytest.mark.deep
@pytest.mark.parametrize("n", range(OF_COMMIT))
def test_nor_does_a_day_harm_that_this_commit_draws(n: int) -> None:
    bad_day(of_this_commit(OF_COMMIT)[n])


@pytest.mark.parametrize("seed", cases(FOUND, deep=set(FOUND) - set(LATELY)))
def test_nor_one_of_those_on_which_something_was_found(seed: int) -> None:
    bad_day(seed)


def bad_day(seed: int) -> None:
    lived = live_badly(seed, HOURS)

    assert not lived.complaint(), lived.complaint()
    prove("fleet", "scaling", hours=HOURS, told=dict(lived.befell))


def test_everything_befalls_a_fleet_within_a_week() -> None:
    """What befalls it depends on the world alone: no process need run for it."""
    befell: Counter[str] = Counter()
    for seed in range(7):
        fleet = BadDays(World(seed), MemoryItems(codec.CODEC))
        fleet.invoke = lambda *notices: None  # type: ignore[method-assign,assignment]
        fleet.begin()
        fleet.world.run(START_S + HOURS * 3_600)
        befell.update(fleet.befell)

    assert set(befell) == EVERY
