"""A year of stream workers alone: a tenth of what all three parts together take, so it can be lived often."""

import pytest

from holdfast.sim.living import live
from holdfast.sim.scenarios import Agreeing
from tests.deep import cases
from tests.proof import YEAR_H, prove

HOURS = 120
YEAR = range(2_000, 2_000 + -(-YEAR_H // HOURS))
QUICK = YEAR[:2]


@pytest.mark.parametrize("seed", cases(YEAR, deep=YEAR[len(QUICK) :]))
def test_whatever_fails_the_cap_is_right_in_the_end_and_never_too_low(seed: int) -> None:
    lived = live(seed, HOURS, only=(Agreeing.name,))

    assert not lived.complaint(), f"{lived.complaint()} (but of {Agreeing.name} alone, as here)"
    assert lived.actions[Agreeing.name] >= HOURS // 12, "it was a busy time"
    prove("alone", "agreement", hours=HOURS)
