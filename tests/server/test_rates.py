"""A client that asks too often is sent away, and only that one."""

from holdfast.failover.api.codes import Code, Refusal
from holdfast.server.rates import BURST_S, Rates


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def spend(rates: Rates, client_id: str, per_second: int) -> int:
    """How many requests are let through at this moment."""
    for count in range(100_000):
        refusal = refused(rates, client_id, per_second)
        if refusal is not None:
            assert refusal.code is Code.RATE_LIMITED
            assert (refusal.retry_after_s or 0) >= 1
            return count
    raise AssertionError("no limit")


def refused(rates: Rates, client_id: str, per_second: int) -> Refusal | None:
    try:
        rates.take(client_id, per_second)
    except Refusal as refusal:
        return refusal
    return None


def test_a_burst_is_let_through_and_then_the_rate() -> None:
    clock = Clock()
    rates = Rates(clock)
    assert spend(rates, "shop", 10) == 10 * BURST_S
    clock.now_s += 1
    assert spend(rates, "shop", 10) == 10


def test_one_client_does_not_spend_what_another_has() -> None:
    rates = Rates(Clock())
    spend(rates, "shop", 10)
    rates.take("bank", 10)


def test_a_client_without_a_limit_is_never_sent_away() -> None:
    rates = Rates(Clock())
    assert not any(refused(rates, "shop", 0) for _ in range(10_000))


def test_a_long_silence_saves_up_no_more_than_a_burst() -> None:
    clock = Clock()
    rates = Rates(clock)
    rates.take("shop", 10)
    clock.now_s += 3_600
    assert spend(rates, "shop", 10) == 10 * BURST_S
