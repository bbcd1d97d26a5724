"""In which order offerings are asked, how a request is spread over them, and what it would cost."""

from collections import Counter
from dataclasses import replace
from typing import Any

from holdfast.autoscaler import interruption
from holdfast.autoscaler.decide import decide
from holdfast.autoscaler.record import Cluster, LaunchStatus, Unavailable
from holdfast.autoscaler.report.machines import Bill, bill
from holdfast.autoscaler.scale_up import action as scale_up
from holdfast.autoscaler.scale_up.launch_plan import intents
from holdfast.autoscaler.scale_up.offering_ranks import LOSSES_KEPT_S, RECLAIMED, losses
from holdfast.autoscaler.scale_up.why_nowhere import why_nowhere
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.snapshot import Need, Place, Snapshot
from holdfast.autoscaler.workflow import _recalled, workflow
from holdfast.cloud import Market, Notice, NoticeKind, Offering, Prices, Shape
from holdfast.kernel import Write
from tests.autoscaler.unit.scale_up.test_action import row, scaling_up
from tests.autoscaler.unit.snapshots import NOW_S, snapshot, worker

AT_S = int(NOW_S)
TYPES = ("m5.large", "m5a.large", "m6i.large", "m5.xlarge")
USD = dict(zip(TYPES, (0.04, 0.03, 0.05, 0.08), strict=True))
SHAPES = {kind: Shape(4_000 if "xlarge" in kind else 2_000, 8 << 30) for kind in TYPES}
POOL = Pool(instance_types=TYPES, subnet_ids=("s-a", "s-b"))
SETTINGS = Settings(pools=(POOL,), offerings_min=4, min_workers=0)
PRICES = Prices({Offering(zone, Market.SPOT, kind): usd for zone in "ab" for kind, usd in USD.items()})


def seen(*workers: Any, **said: Any) -> Snapshot:
    return snapshot(*workers, **{"prices": PRICES, "shapes": SHAPES, **said})


def asked(need: Need, look: Snapshot, cluster: Cluster | None = None, **said: Any) -> Counter[str]:
    rows = intents(cluster or Cluster(), look, need, 1, (), replace(SETTINGS, **said), NOW_S)
    return Counter({str(each.offering): each.count for each in rows})


def test_the_cheapest_types_come_first_and_price_alone_puts_not_all_on_one() -> None:
    need = Need("default", 8, types=TYPES)

    assert asked(need, seen()) == {f"spot/{kind}/{zone}": 2 for kind in TYPES[:2] for zone in "ab"}
    assert asked(need, seen(), offerings_min=1) == {f"spot/m5a.large/{zone}": 4 for zone in "ab"}
    in_a = asked(replace(need, zone="a", count=4), seen())
    assert len(in_a) == 4, "in one zone it takes more types"


def test_what_the_fleet_has_much_of_comes_later() -> None:
    has = [worker(f"i-{n}", "a") for n in range(3)]  # of m5.large
    one = asked(Need("default", 1, zone="a", types=("m5.large", "m5a.large")), seen(*has))

    assert one == {"spot/m5a.large/a": 1}
    many = [replace(each, instance=replace(each.instance, instance_type="m5a.large")) for each in has]
    other = asked(Need("default", 1, zone="a", types=("m5.large", "m5a.large")), seen(*many))
    assert other == {"spot/m5.large/a": 1}, "though it is dearer"


def test_only_types_that_hold_the_pods_are_asked_for_and_the_record_keeps_them() -> None:
    need = Need("default", 2, types=("m6i.large", "m5.xlarge"))
    rows = intents(Cluster(), seen(), need, 1, (), SETTINGS, NOW_S)
    assert {each.instance_type for each in rows} <= set(need.types)
    assert {each.types for each in rows} == {need.types}

    refused = row(status=LaunchStatus.REFUSED, instance_type="m6i.large", types=need.types)
    barred = replace(scaling_up(refused), unavailable=(Unavailable("spot/m6i.large/a", AT_S + 99, "none"),))
    up = barred.scale_up
    assert up is not None
    again = scale_up.proceed(barred, up, seen(), replace(SETTINGS, offerings_min=1), NOW_S)
    assert isinstance(again, Write)
    assert again.value.scale_up is not None
    assert {each.instance_type for each in again.value.scale_up.launches} <= set(need.types)


def test_types_without_pods_keep_the_order_of_the_list() -> None:
    assert asked(Need("default", 2), seen()) == {"spot/m5.large/a": 1, "spot/m5.large/b": 1}


def test_where_machines_were_taken_back_lately_others_come_first_for_hours() -> None:
    look = seen(worker("i-1", "a"), notices=(Notice("i-1", NoticeKind.INTERRUPTION, AT_S, AT_S + 120),))
    noted = interruption.fold(Cluster(), look, SETTINGS, NOW_S)
    assert noted is not None
    (taken,) = noted.value.unavailable
    assert (taken.offering, taken.reason, taken.times) == ("spot/m5.large/a", RECLAIMED, 1)
    again = interruption.fold(replace(noted.value, interrupted=()), look, SETTINGS, NOW_S)
    assert again is not None
    assert losses(again.value) == {"spot/m5.large/a": 2}

    near = Need("default", 1, zone="a", types=("m5.large", "m5a.large"))
    close = Prices(
        {Offering("a", Market.SPOT, "m5.large"): 0.03, Offering("a", Market.SPOT, "m5a.large"): 0.035}
    )
    over = Cluster(unavailable=(Unavailable("spot/m5.large/a", AT_S - 60, RECLAIMED, 2),))
    look = seen(prices=close)
    assert asked(near, look, offerings_min=1) == {"spot/m5.large/a": 1}
    assert asked(near, look, over, offerings_min=1) == {"spot/m5a.large/a": 1}
    old = replace(over, unavailable=(replace(over.unavailable[0], until_s=AT_S - LOSSES_KEPT_S - 1),))
    assert _recalled(over, look, SETTINGS, NOW_S).unavailable
    assert not _recalled(old, look, SETTINGS, NOW_S).unavailable


def test_a_pool_stays_within_its_vcpus_and_memory() -> None:
    limited = replace(POOL, vcpus_max=6)
    has = (worker("i-1", "a"),)
    need = Need("default", 5, types=("m5.large",))
    assert asked(need, seen(*has), pools=(limited,)).total() == 2
    by_memory = replace(POOL, memory_gib_max=24)
    assert asked(need, seen(*has), pools=(by_memory,)).total() == 2
    full = replace(SETTINGS, pools=(replace(POOL, vcpus_max=1),))
    assert not intents(Cluster(), seen(), need, 1, (), full, NOW_S)
    assert "vcpus_max" in why_nowhere(Cluster(), seen(), ["default"], full, NOW_S)


def billed(need: Need, look: Snapshot) -> Bill:
    settings = replace(SETTINGS, pending_up_s=0, max_batch_up=9, offerings_min=1)
    wanting = replace(look, pending=1, needs=lambda coming: (need,))
    decision = decide(Cluster(), wanting, settings, NOW_S)
    ahead = workflow(settings).step(Cluster(), wanting, NOW_S)
    return bill(Cluster(), wanting, settings, decision, ahead, NOW_S)


def test_a_plan_tells_what_the_machines_cost_and_what_the_next_best_would() -> None:
    found = billed(Need("default", 2, types=TYPES), seen())

    assert [(str(each.offering), each.count, each.usd) for each in found.machines] == [
        ("spot/m5a.large/a", 1, 0.03),
        ("spot/m5a.large/b", 1, 0.03),
    ]
    assert found.usd == 0.06
    in_one = billed(Need("default", 1, zone="a", types=TYPES[:2]), seen())
    (machine,) = in_one.machines
    assert (str(machine.next_best), machine.next_best_usd) == ("spot/m5.large/a", 0.04)
    assert in_one.as_json()["next_best_usd_per_hour"] == 0.04


def test_a_plan_says_which_prices_are_guessed_and_goes_on_behind_a_template() -> None:
    unknown = seen(prices=Prices({}), templates={}, places=(Place("default", "a", "s-a"),))
    (machine,) = billed(Need("default", 1, types=("m5.large",)), unknown).machines

    assert not machine.is_known
    assert machine.usd > 0
    assert "guessed" in str(machine)
    assert machine.next_best is None
