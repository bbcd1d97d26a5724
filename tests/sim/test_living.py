"""Busy months, in virtual time: all three parts together, every fault there is, then healing."""

import os
import subprocess
import sys
from collections import Counter

import pytest

from holdfast.sim.gate import Fate
from holdfast.sim.living import live
from tests.deep import cases
from tests.proof import prove
from tests.seeds import of_this_commit

YEAR, QUICK, OF_COMMIT = range(96), range(6), 6
"""A year is these seeds one after the other; before each commit some of them are lived, and some others."""
HOURS, QUICK_HOURS = 96, 24


@pytest.mark.parametrize("seed", cases(YEAR, deep=YEAR[len(QUICK) :]))
def test_whatever_fails_nothing_breaks_and_everything_heals(seed: int) -> None:
    hours = QUICK_HOURS if seed in QUICK else HOURS
    prove("sim", "all three", hours=hours, **busy_days(seed, hours))


@pytest.mark.parametrize("n", range(OF_COMMIT))
def test_nor_with_a_seed_that_this_commit_draws(n: int) -> None:
    """Every commit lives others; the complaint ends with the command that lives this one again."""
    seed = of_this_commit(OF_COMMIT)[n]
    prove("sim", "all three", hours=QUICK_HOURS, **days(seed, QUICK_HOURS, actions_min=0))


def busy_days(seed: int, hours: int) -> dict[str, dict[str, int]]:
    """The same for a seed in which each part has work to do."""
    return days(seed, hours, actions_min=hours // 12)


def days(seed: int, hours: int, actions_min: int) -> dict[str, dict[str, int]]:
    """What was done and suffered, once nothing is to be complained of."""
    lived = live(seed, hours)

    assert not lived.complaint(), lived.complaint()
    for name, count in lived.actions.items():
        assert count >= actions_min, f"seed {seed}: {name} did almost nothing: {count} in {hours} h"
    suffered: Counter[str] = Counter()
    for (phase, fate), n in lived.suffered.items():
        suffered[f"{phase}: {fate}"] += n
    return {"actions": dict(lived.actions), "suffered": dict(suffered)}


def test_every_kind_of_fault_strikes_in_some_seed() -> None:
    struck = {fate for seed in (2, 4) for _, fate in live(seed, 24).suffered}

    assert struck == {fate.value for fate in Fate} - {"works"}


def test_one_seed_gives_one_history_whatever_the_hash_seed() -> None:
    script = "from holdfast.sim.living import live; lived = live(7, 6); print(lived.digest, lived.actions)"

    def history(hash_seed: str) -> str:
        env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run(
            [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True
        ).stdout

    assert history("1") == history("2")
    assert live(7, 6).digest != live(8, 6).digest
