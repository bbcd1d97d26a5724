"""What was spent: to the cent, month by month, and nothing made up."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from holdfast.autoscaler.money.ledger import CODEC, GAP_S, Ledger, Month, accrued, step
from holdfast.autoscaler.money.rates import Rates
from holdfast.kernel import Done, Write

NOVEMBER_S = datetime(2026, 11, 30, 23, 0, tzinfo=UTC).timestamp()
RATES = Rates(1.0, 3.0)


def noted(ledger: Ledger, rates: Rates | None, now_s: float) -> Ledger:
    ahead = step(ledger, rates, now_s)
    return ahead.value if isinstance(ahead, Write) else ledger


def test_the_hours_before_and_after_the_end_of_a_month_go_to_their_months() -> None:
    ledger = noted(Ledger(), RATES, NOVEMBER_S)
    ledger = noted(ledger, RATES, NOVEMBER_S + 5_400)
    assert ledger.month("2026-11") == Month(1.0, 3.0, 3_600)
    assert ledger.month("2026-12") == Month(0.5, 1.5, 1_800)
    assert ledger.month("2026-12").saved_usd == 1.0


def test_a_change_of_the_rate_is_written_at_once_and_counts_from_then() -> None:
    ledger = noted(Ledger(), RATES, NOVEMBER_S)
    ledger = noted(ledger, Rates(2.0, 6.0), NOVEMBER_S + 1_800)
    assert accrued(ledger, NOVEMBER_S + 3_600).month("2026-11").usd == 1.5


def test_an_unchanged_rate_is_written_once_an_hour_and_not_sooner() -> None:
    ledger = noted(Ledger(), RATES, NOVEMBER_S)
    assert isinstance(step(ledger, RATES, NOVEMBER_S + 3_599), Done)
    assert isinstance(step(ledger, RATES, NOVEMBER_S + 3_600), Write)


def test_what_no_tick_has_seen_is_not_made_up() -> None:
    ledger = noted(Ledger(), RATES, NOVEMBER_S - 86_400)
    ledger = noted(ledger, RATES, NOVEMBER_S - 86_400 + GAP_S + 1)
    assert ledger.month("2026-11") == Month(unseen_s=GAP_S + 1)


def test_unknown_prices_and_a_clock_that_steps_back_change_nothing() -> None:
    ledger = noted(Ledger(), RATES, NOVEMBER_S)
    assert isinstance(step(ledger, None, NOVEMBER_S + 9_999), Done)
    assert isinstance(step(ledger, Rates(9.0, 9.0), NOVEMBER_S - 60), Done)
    assert accrued(ledger, NOVEMBER_S - 60) == ledger


def test_old_months_go_and_the_record_is_stored_whole() -> None:
    months = {f"{2020 + n // 12}-{n % 12 + 1:02d}": Month(1.0, 2.0, 3_600, 60) for n in range(40)}
    ledger = noted(Ledger(months, 1.0, 2.0, int(NOVEMBER_S)), RATES, NOVEMBER_S + 60)
    assert len(ledger.months) == 13
    assert CODEC.load(dict(CODEC.encode(ledger)), table="t", key="k") == ledger


@pytest.mark.parametrize("steps", [1, 7, 60])
def test_many_short_steps_come_to_what_one_long_one_does(steps: int) -> None:
    ledger = noted(Ledger(), RATES, NOVEMBER_S - 7_200)
    for n in range(steps):
        ledger = noted(
            ledger, replace(RATES, usd=1.0 + n % 2 * 1e-6), NOVEMBER_S - 7_200 + 3_600 * (n + 1) / steps
        )
    assert ledger.month("2026-11").on_demand_usd == pytest.approx(3.0, abs=1e-4)
