"""What keeps a request from a place, guard by guard."""

from collections import Counter
from dataclasses import replace
from typing import Any

from holdfast.autoscaler.record import Cluster, LaunchStatus, Purpose, Unavailable
from holdfast.autoscaler.scale_up.launch_plan import intents
from holdfast.autoscaler.scale_up.offering_ranks import RECLAIMED, expected_prices, losses
from holdfast.autoscaler.scale_up.pool_failures import failures_after
from holdfast.autoscaler.settings import Pool
from holdfast.autoscaler.snapshot import Need, Snapshot
from holdfast.cloud import Market, Offering, Prices, Shape
from tests.autoscaler.unit.scale_up.test_action import row, scaling_up
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, snapshot, worker

AT_S = int(NOW_S)
SPOT, OTHER = Offering("a", Market.SPOT, "m5.large"), Offering("a", Market.SPOT, "m5a.large")
HERE = Need("default", 1, zone="a", purpose=Purpose.ROTATION, types=("m5.large", "m5a.large"))


def asked(need: Need, seen: Snapshot, cluster: Cluster | None = None, **said: Any) -> Counter[str]:
    beside = said.pop("beside", ())
    rows = intents(cluster or Cluster(), seen, need, 1, beside, replace(SETTINGS, **said), NOW_S)
    found: Counter[str] = Counter()
    for each in rows:
        found[str(each.offering)] += each.count
    return found


def priced(*workers: Any, **said: Any) -> Snapshot:
    return snapshot(*workers, prices=Prices({SPOT: 0.04, OTHER: 0.05}), **said)


def test_a_replacement_that_must_save_is_asked_for_only_where_it_does() -> None:
    assert asked(replace(HERE, usd_max=0.05), priced(), offerings_min=1) == {str(SPOT): 1}
    none = Cluster(unavailable=(Unavailable(str(SPOT), AT_S + 60, "none"),))
    assert asked(replace(HERE, usd_max=0.05), priced(), none) == {str(OTHER): 1}, "the ceiling itself will do"
    assert asked(replace(HERE, usd_max=0.049), priced(), none) == {}
    assert asked(replace(HERE, usd_max=0.039), priced()) == {}


def test_a_replacement_that_must_save_is_not_asked_for_where_the_price_is_not_known() -> None:
    assert asked(replace(HERE, usd_max=0.05), snapshot()) == {}
    assert asked(HERE, snapshot()).total() == 1, "another may cost anything"


def test_a_hint_is_not_followed_to_where_machines_are_taken_back() -> None:
    every = tuple(
        Unavailable(f"{market}/{kind}/{zone}", AT_S + 60, RECLAIMED)
        for market in Market
        for kind in ("m5.large", "m5a.large")
        for zone in "ab"
    )
    reclaimed = Cluster(unavailable=every)

    assert asked(Need("default", 1, purpose=Purpose.HINT), snapshot(), reclaimed) == {}
    assert asked(Need("default", 1, purpose=Purpose.REPAIR), snapshot(), reclaimed).total() == 1


def test_the_limits_of_a_pool_count_what_it_has_asked_for_and_nothing_of_another() -> None:
    pools = (replace(SETTINGS.pools[0], vcpus_max=6), Pool(name="gpu"))
    shapes = {kind: Shape(2_000, 8 << 30) for kind in ("m5.large", "m5a.large")}
    seen, five = snapshot(worker("i-1"), shapes=shapes), Need("default", 5)

    assert asked(five, seen, pools=pools).total() == 2
    assert asked(five, seen, pools=pools, beside=[row(count=1)]).total() == 1
    assert asked(five, seen, scaling_up(row(count=2)), pools=pools).total() == 0
    assert asked(five, seen, pools=pools, beside=[row(count=2, pool="gpu")]).total() == 2
    gpu = snapshot(worker("i-1"), worker("i-2", pool="gpu"), shapes=shapes)
    assert asked(five, gpu, pools=pools).total() == 2


def test_only_spot_is_spread_over_types() -> None:
    on_demand = (replace(SETTINGS.pools[0], market=Market.ON_DEMAND),)
    dear = Prices({replace(each, market=Market.ON_DEMAND): 0.1 for each in (SPOT, OTHER)})
    four = replace(HERE, count=4, purpose=Purpose.DEMAND)

    assert len(asked(four, priced(), offerings_min=2)) == 2
    seen = snapshot(prices=dear)
    assert len(asked(four, seen, pools=on_demand, offerings_min=2)) == 1


def test_only_machines_that_were_taken_back_make_an_offering_dearer() -> None:
    lately = Cluster(
        unavailable=(Unavailable(str(SPOT), AT_S, "quota", 5), Unavailable(str(OTHER), AT_S, RECLAIMED, 2))
    )

    assert losses(lately) == {str(OTHER): 2}


def test_an_offering_counts_as_on_demand_only_while_it_has_nothing() -> None:
    prices, shapes = Prices({SPOT: 0.04, replace(SPOT, market=Market.ON_DEMAND): 0.1}), dict[str, Shape]()

    def expected(until_s: int) -> float:
        barred = Cluster(unavailable=(Unavailable(str(SPOT), until_s, "none"),))
        return expected_prices(barred, prices, shapes, NOW_S).expected(SPOT)

    assert (expected(AT_S + 1), expected(AT_S)) == (0.1, 0.04)


def test_a_replacement_by_choice_that_found_no_place_holds_up_no_pod_that_waits_for_the_pool() -> None:
    def failed(purpose: Purpose) -> list[tuple[str, int]]:
        gave_up = row(status=LaunchStatus.ABANDONED, reason="no capacity", purpose=purpose)
        up = scaling_up(gave_up).scale_up
        assert up is not None
        return [(one.pool, one.failures) for one in failures_after(Cluster(), up, SETTINGS, NOW_S)]

    assert failed(Purpose.DEMAND) == [("default", 0)]
    assert failed(Purpose.ROTATION) == []
