"""Busy months, in virtual time: all three parts together, every fault there is, then healing."""

import os
import subprocess
import sys
from collections import Counter

import pytest

from holdfast.sim.gate import Fate
from holdfast.sim.living import live
from tests.proof import prove

SEEDS, HOURS, CHUNK = 92, 96, 2


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_whatever_fails_nothing_breaks_and_everything_heals(first: int) -> None:
    actions: Counter[str] = Counter()
    suffered: Counter[str] = Counter()
    for seed in range(first, first + CHUNK):
        lived = live(seed, HOURS)

        assert not lived.complaint(), lived.complaint()
        for name, count in lived.actions.items():
            assert count > HOURS / 8, f"seed {seed}: {name} did almost nothing: {count} in {HOURS} h"
        actions.update(lived.actions)
        suffered.update({f"{phase}: {fate}": n for (phase, fate), n in lived.suffered.items()})

    prove("sim", "all three", hours=CHUNK * HOURS, actions=dict(actions), suffered=dict(suffered))


def test_every_kind_of_fault_strikes_in_some_seed() -> None:
    struck = {fate for seed in range(4) for _, fate in live(seed, 48).suffered}

    assert struck == {fate.value for fate in Fate} - {"works"}


def test_one_seed_gives_one_history_whatever_the_hash_seed() -> None:
    script = "from holdfast.sim.living import live; lived = live(7, 12); print(lived.digest, lived.actions)"

    def history(hash_seed: str) -> str:
        env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run(
            [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True
        ).stdout

    assert history("1") == history("2")
    assert live(7, 12).digest != live(8, 12).digest
