"""What a tick does when something cannot be looked at: the budgets, or what machines cost."""

from collections.abc import Sequence

from holdfast.cloud import Offering, Prices
from holdfast.cloud.kubernetes import Budget
from holdfast.kernel import Busy, Unknown
from tests.autoscaler.unit.tick.test_tick import Bench
from tests.cli.small_world import SmallWorld


class Blind(SmallWorld):
    """Some of it cannot be looked at."""

    def budgets(self) -> Sequence[Budget]:
        raise Busy("throttled")

    def prices(self, offerings: Sequence[Offering]) -> Prices:
        raise Unknown("no answer")


def test_what_cannot_be_looked_at_is_a_trouble_and_holds_what_it_concerns() -> None:
    bench = Bench(Blind.of(3))

    listings = bench.auto.look("me")

    assert listings.troubles == ("the disruption budgets cannot be listed (throttled)",)
    assert bench.tick().outcome == "idle"


class Unlisted(SmallWorld):
    """The price list does not answer."""

    def prices(self, offerings: Sequence[Offering]) -> Prices:
        return Prices(self.usd, "pricing:GetProducts: no answer")


def test_a_price_list_that_does_not_answer_is_told_with_the_fix_and_ticks_go_on() -> None:
    bench = Bench(Unlisted.of(3))

    listings = bench.auto.look("me")

    told = "on-demand prices: the price list does not tell them (pricing:GetProducts: no answer); "
    fix = "give them in usd_per_hour, or set on_demand_prices to settings"
    assert listings.remarks == (told + fix,)
    assert (listings.prices.of, listings.troubles) == (bench.world.usd, ())
    assert bench.tick().outcome == "idle"
