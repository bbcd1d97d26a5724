"""Where new workers are asked for."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler.record import Cluster, Interrupted, Launch, Spent, Unavailable
from holdfast.autoscaler.scale_up.launch_plan import intents, prepared, spent_lately
from holdfast.autoscaler.scale_up.why_nowhere import why_nowhere
from holdfast.autoscaler.settings import Pool
from holdfast.autoscaler.snapshot import Need, Place, Snapshot, Worker
from holdfast.cloud import Market, NoticeKind, Offering, Prices, Shape, State
from holdfast.cloud.launches import Template
from tests.autoscaler.unit.scale_up.test_action import row, scaling_up
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, snapshot, worker

AT_S = int(NOW_S)
NO_SPOT = Cluster(unavailable=(Unavailable("spot/standard", AT_S + 60, "quota"),))


def asked(
    need: Need,
    *workers: Worker,
    cluster: Cluster | None = None,
    beside: Any = (),
    seen: Any = None,
    **said: Any,
) -> list[Launch]:
    look: Snapshot = seen or snapshot(*workers)
    return intents(cluster or Cluster(), look, need, 1, beside, replace(SETTINGS, **said), NOW_S)


def places(rows: list[Launch]) -> list[tuple[str, int]]:
    return [(str(each.offering), each.count) for each in rows]


def test_the_emptiest_zone_comes_first_and_what_is_asked_for_counts() -> None:
    assert places(asked(Need("default", 1), worker("i-1", "a"))) == [("spot/m5.large/b", 1)]
    asked_for_b = scaling_up(row(zone="b", count=2))
    assert places(asked(Need("default", 1), worker("i-1", "a"), cluster=asked_for_b)) == [
        ("spot/m5.large/a", 1)
    ]


@pytest.mark.parametrize("kind", [NoticeKind.REBALANCE, NoticeKind.INTERRUPTION])
def test_a_machine_that_may_be_taken_back_does_not_fill_a_zone(kind: NoticeKind) -> None:
    interrupted = Cluster(interrupted=(Interrupted("i-1", kind, AT_S, AT_S + 120),))

    fleet = (worker("i-1", "a"), worker("i-2", "a"), worker("i-3", "b"), worker("i-4", "b"))
    beside = [row(zone="a", count=1)]

    assert places(asked(Need("default", 1), *fleet, cluster=interrupted)) == [("spot/m5.large/a", 1)]
    without_interruption = asked(Need("default", 1), *fleet, beside=beside)
    assert places(without_interruption) == [("spot/m5.large/b", 1)], "what is asked for beside it counts"
    one_less = asked(Need("default", 2), *fleet, cluster=interrupted, beside=beside)
    assert places(one_less) == [("spot/m5.large/a", 1), ("spot/m5.large/b", 1)]


def test_each_place_is_a_request_of_its_own_with_a_token_of_its_own() -> None:
    rows = asked(Need("default", 4))

    assert [each.group for each in rows] == [1, 2]
    assert len({each.token("1-a") for each in rows}) == len(rows)


def test_every_type_of_a_zone_and_every_zone_is_tried_before_on_demand() -> None:
    barred: list[str] = []
    order: list[str] = []
    for _ in range(8):
        cluster = Cluster(unavailable=tuple(Unavailable(each, AT_S + 60, "none") for each in barred))
        rows = asked(Need("default", 1), cluster=cluster)
        order += [str(each.offering) for each in rows]
        barred += [str(each.offering) for each in rows]

    assert order == [
        "spot/m5.large/a",
        "spot/m5a.large/a",
        "spot/m5.large/b",
        "spot/m5a.large/b",
        "on-demand/m5.large/a",
        "on-demand/m5a.large/a",
        "on-demand/m5.large/b",
        "on-demand/m5a.large/b",
    ]


def test_what_was_refused_is_tried_again_after_a_while() -> None:
    refused = Cluster(unavailable=(Unavailable("spot/m5.large/a", AT_S, "none"),))

    assert places(asked(Need("default", 1), cluster=refused)) == [("spot/m5.large/a", 1)]


def test_a_need_that_is_bound_to_a_zone_goes_there_or_nowhere() -> None:
    bound = Need("default", 2, zone="b")

    rows = asked(bound, worker("i-1", "b"), worker("i-2", "b"))

    assert [(each.zone, each.count, each.bound) for each in rows] == [("b", 2, True)]
    assert asked(Need("default", 1, zone="nowhere")) == []


@pytest.mark.parametrize(("fraction", "count"), [(0.0, 0), (0.25, 2), (0.5, 6), (1.0, 9)])
def test_on_demand_workers_stay_within_their_share_however_many_are_asked_for_at_once(
    fraction: float, count: int
) -> None:
    spot = [worker(f"i-{n}") for n in range(6)]

    rows = asked(Need("default", 9), *spot, cluster=NO_SPOT, on_demand_max_fraction=fraction)

    assert sum(each.count for each in rows) == count


def test_the_share_of_an_empty_fleet_may_be_all_of_it_in_several_requests() -> None:
    first = asked(Need("default", 1), cluster=NO_SPOT)

    assert len(asked(Need("default", 2), cluster=NO_SPOT, beside=first)) == 2


def test_what_is_asked_for_counts_toward_the_share_and_spot_never_does() -> None:
    spot = [worker(f"i-{n}") for n in range(6)]
    share: dict[str, Any] = {"cluster": NO_SPOT, "on_demand_max_fraction": 0.25}
    beside = [row(market=Market.ON_DEMAND, count=2)]

    assert len(asked(Need("default", 1), *spot, **share)) == 1
    assert asked(Need("default", 1), *spot, beside=beside, **share) == []
    more_spot = [row(count=4)]
    assert sum(each.count for each in asked(Need("default", 9), *spot, beside=more_spot, **share)) == 3
    assert len(asked(Need("default", 1), on_demand_max_fraction=0.0)) == 1


def test_a_pool_that_wants_no_spot_has_no_share_to_keep() -> None:
    pools = (replace(SETTINGS.pools[0], market="on-demand"),)

    rows = asked(Need("default", 4), pools=pools, on_demand_max_fraction=0.0)

    assert {each.market for each in rows} == {Market.ON_DEMAND}
    assert sum(each.count for each in rows) == 4


def priced(*workers: Worker, usd: float = 0.1) -> Snapshot:
    offerings = [Offering(zone, market, "m5.large") for zone in "ab" for market in Market]
    return replace(snapshot(*workers), prices=Prices(dict.fromkeys(offerings, usd)))


def test_the_ceiling_counts_what_runs_what_is_asked_for_and_what_is_not_listed_yet() -> None:
    ceiling: dict[str, Any] = {"usd_per_hour_max": 0.55}
    assert sum(each.count for each in asked(Need("default", 9), seen=priced(), **ceiling)) == 5
    running = priced(worker("i-1"), worker("i-2"))
    assert sum(each.count for each in asked(Need("default", 9), seen=running, **ceiling)) == 3
    open_scale_up = scaling_up(row(1, "i-8", "i-9"), row(2, count=1))
    assert asked(Need("default", 9), seen=running, cluster=open_scale_up, **ceiling) == []
    for one_left in (scaling_up(row(1, "i-8", "i-9")), scaling_up(row(2, count=2))):
        rows = asked(Need("default", 9), seen=running, cluster=one_left, **ceiling)
        assert sum(each.count for each in rows) == 1
    dead = priced(*(worker(f"i-{n}", state=State.TERMINATED) for n in range(9)))
    assert sum(each.count for each in asked(Need("default", 9), seen=dead, **ceiling)) == 5


def test_the_ceiling_itself_may_be_reached() -> None:
    rows = asked(Need("default", 9), seen=priced(usd=0.25), usd_per_hour_max=0.5)

    assert sum(each.count for each in rows) == 2


def test_prices_that_are_not_known_any_more_stop_no_look_at_what_was_asked_for() -> None:
    odd = scaling_up(
        row(1, "i-8", instance_type="x1.huge"), row(2, count=1, instance_type="x1.huge"), row(3, count=1)
    )

    rows = asked(Need("default", 9), seen=priced(), cluster=odd, usd_per_hour_max=0.55)

    assert sum(each.count for each in rows) == 4


def test_a_worker_whose_price_is_not_known_does_not_make_the_others_free() -> None:
    strange = replace(worker("i-9"), instance=replace(worker("i-9").instance, instance_type="x1.huge"))
    fleet = [worker(f"i-{n}") for n in range(5)]

    assert asked(Need("default", 1), seen=priced(strange, *fleet), usd_per_hour_max=0.55) == []


def test_with_a_ceiling_nothing_is_launched_whose_price_is_not_known() -> None:
    rows = asked(Need("default", 2), seen=priced(), usd_per_hour_max=9.0)

    assert {each.instance_type for each in rows} == {"m5.large"}
    assert asked(Need("default", 2), usd_per_hour_max=9.0) == []


def test_a_pool_without_template_or_subnet_is_asked_for_nothing() -> None:
    gpu = (*SETTINGS.pools, Pool(name="gpu"))

    assert asked(Need("gpu", 1), pools=gpu) == []
    prepared = replace(snapshot(), templates={"gpu": Template("lt-2", 1, "d")})
    assert asked(Need("gpu", 1), seen=prepared, pools=gpu) == []
    placed = replace(prepared, places=(Place("gpu", "a", "s-a"),))
    assert len(asked(Need("gpu", 1), seen=placed, pools=gpu)) == 1
    assert asked(Need("gpu", 1), seen=replace(placed, templates={}), pools=gpu) == []
    assert asked(Need("gpu", 1), seen=placed) == [], "the pool was taken out of the settings"


def test_a_template_is_prepared_if_it_is_there_and_says_what_the_settings_say() -> None:
    (pool,) = SETTINGS.pools

    assert prepared(pool, snapshot())
    assert prepared(pool, snapshot(digests={})), "a digest that is not known demands no other"
    assert not prepared(pool, snapshot(digests={"default": "new"}))
    assert not prepared(pool, snapshot(templates={}))
    assert not prepared(pool, snapshot(templates={}, digests={}))


def test_launches_count_for_an_hour() -> None:
    spent = tuple(Spent("1-a", AT_S - ago_s, 2) for ago_s in (3_601, 3_600, 3_599, 0))

    assert spent_lately(Cluster(spent=spent), NOW_S) == 4


BARRED = tuple(
    f"{market}/{kind}/{zone}"
    for market in ("on-demand", "spot")
    for kind in ("m5.large", "m5a.large")
    for zone in "ab"
)


def in_words(bars: Sequence[str]) -> str:
    more = f" and {len(bars) - 4} more" if len(bars) > 4 else ""
    return ", ".join(f"{bar} (none)" for bar in bars[:4]) + f"{more} left alone"


def test_why_there_is_nowhere_to_scale_up() -> None:
    def why(cluster: Cluster, seen: Snapshot, **said: Any) -> str:
        return why_nowhere(cluster, seen, ["default", "default"], replace(SETTINGS, **said), NOW_S)

    def without(bars: Sequence[str]) -> Cluster:
        return Cluster(unavailable=tuple(Unavailable(bar, AT_S + 1, "none") for bar in reversed(bars)))

    at_the_ceiling = priced(worker("i-1"))
    nothing = f"nothing to be had: {in_words(BARRED)} for a while"
    assert why(without(BARRED), at_the_ceiling) == nothing
    assert why(without(BARRED), at_the_ceiling, usd_per_hour_max=0.1) == nothing, "money would not help"
    over = Cluster(unavailable=(*without(BARRED[1:]).unavailable, Unavailable(BARRED[0], AT_S, "none")))
    dear = (
        "nowhere to scale up within usd_per_hour_max = 0.1 dollars an hour: raise it, or allow cheaper types"
    )
    assert why(over, at_the_ceiling, usd_per_hour_max=0.1) == dear, "its time is over"
    assert why(without(BARRED[1:]), at_the_ceiling, usd_per_hour_max=0.1) == dear, "one place is free"
    ceiling = "usd_per_hour_max = 0.1 needs one: give it in usd_per_hour"
    unknown = f"no price is known of what could be had, and {ceiling}"
    assert why(Cluster(), replace(at_the_ceiling, prices=Prices({})), usd_per_hour_max=0.1) == unknown
    only = f"only on-demand is to be had, and on_demand_max_fraction is 0; {in_words(BARRED[4:])} for a while"
    assert why(without(BARRED[4:]), priced(), on_demand_max_fraction=0.0) == only
    left = f"nowhere to scale up in pool default: {in_words(BARRED[4:])} for a while"
    assert why(without(BARRED[4:]), priced()) == left
    nowhere = "nowhere to scale up: pool default has no subnet that is known"
    assert why(Cluster(), replace(snapshot(), places=())) == nowhere


def test_the_limits_of_a_pool_are_blamed_only_where_they_leave_no_place() -> None:
    def why(most: int, **said: Any) -> str:
        pools = (replace(SETTINGS.pools[0], vcpus_max=most),)
        shapes = {kind: Shape(2_000, 4 << 30, 17, "amd64") for kind in ("m5.large", "m5a.large")}
        seen = replace(priced(worker("i-1")), shapes=shapes)
        only_on_demand = Cluster(unavailable=tuple(Unavailable(bar, AT_S + 1, "none") for bar in BARRED[4:]))
        return why_nowhere(only_on_demand, seen, ["default"], replace(SETTINGS, pools=pools, **said), NOW_S)

    limited = "nowhere to scale up within vcpus_max and memory_gib_max of pool default (3 vcpus, 0 GiB)"
    assert why(3, on_demand_max_fraction=0.0) == limited
    assert why(400, on_demand_max_fraction=0.0).startswith("only on-demand is to be had")
