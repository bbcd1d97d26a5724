"""Where capacity is scarce: what a refusal costs, what it bars and for how long, and when on-demand comes."""

from dataclasses import replace

import pytest

from holdfast.autoscaler.ports import LaunchInstances
from holdfast.autoscaler.record import Cluster, Launch, LaunchStatus, Purpose, ScaleUp, Spent, Unavailable
from holdfast.autoscaler.scale_up import launch_result
from holdfast.autoscaler.scale_up.launch_plan import bars_of, intents, left_this_hour
from holdfast.autoscaler.scale_up.offering_ranks import RECLAIMED
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Need
from holdfast.cloud import Market
from holdfast.cloud.launches import Launched, Refusal, Refused
from holdfast.kernel import Happened
from tests.autoscaler.unit.scale_up.test_action import ACTION, row, scaling_up
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, snapshot

AT_S = int(NOW_S)
REPAIR, DEMAND, HINT = Purpose.REPAIR, Purpose.DEMAND, Purpose.HINT
CERTAIN = (Refusal.CAPACITY, Refusal.QUOTA, Refusal.SUBNET, Refusal.TYPE, Refusal.REFUSED)
PERHAPS = (Refusal.EXISTED, Refusal.MISMATCH)


def answered(answer: Launched | Refused, asked: Launch, cluster: Cluster | None = None) -> Cluster:
    effect = LaunchInstances(ACTION, asked)
    noted = launch_result.settle(cluster or scaling_up(asked), effect, Happened(answer), SETTINGS, NOW_S)
    assert noted is not None
    return noted.value


def market_of(cluster: Cluster, attempt: int) -> Market:
    (first,) = intents(cluster, snapshot(), Need("default", 1), 1, (), SETTINGS, NOW_S, attempt)
    return first.market


def test_on_demand_is_asked_for_after_so_many_refusals() -> None:
    begun_now = Cluster(scale_up=ScaleUp(ACTION, AT_S, 1))

    assert market_of(begun_now, 1) is Market.SPOT
    assert market_of(begun_now, SETTINGS.spot_refusals_max) is Market.SPOT
    assert market_of(begun_now, SETTINGS.spot_refusals_max + 1) is Market.ON_DEMAND


def test_or_after_so_many_seconds_of_one_scale_up_and_never_at_once() -> None:
    patient = Cluster(scale_up=ScaleUp(ACTION, AT_S - SETTINGS.spot_patience_s, 1))
    impatient = Cluster(scale_up=ScaleUp(ACTION, AT_S - SETTINGS.spot_patience_s - 1, 1))

    assert market_of(patient, 2) is Market.SPOT
    assert market_of(impatient, 2) is Market.ON_DEMAND
    assert market_of(impatient, 1) is Market.SPOT, "what is new to an old scale-up begins with spot"


@pytest.mark.parametrize("kind", Refusal)
def test_what_was_certainly_refused_costs_nothing(kind: Refusal) -> None:
    asked = row(count=2, purpose=REPAIR)
    spent = (
        Spent("1-before", AT_S - 60, 1, REPAIR),
        Spent(ACTION, AT_S - 60, 3, DEMAND),
        Spent(ACTION, AT_S, 3, REPAIR),
    )

    after = answered(Refused(kind, "no"), asked, replace(scaling_up(asked), spent=spent))

    assert {*CERTAIN, *PERHAPS} == {*Refusal}
    left = (*spent[:2], replace(spent[2], count=1)) if kind in CERTAIN else spent
    assert after.spent == left, "that of this action and this purpose, and no other"


def test_what_an_answer_is_short_of_costs_nothing_either_and_bars_its_place() -> None:
    asked = row(count=3)
    cluster = replace(scaling_up(asked), spent=(Spent(ACTION, AT_S, 3, DEMAND),))

    after = answered(Launched(("i-9",)), asked, cluster)

    assert after.spent == (Spent(ACTION, AT_S, 1, DEMAND),)
    assert [bar.offering for bar in after.unavailable] == [str(asked.offering)]


def test_each_purpose_has_launches_of_its_own() -> None:
    settings = Settings(max_workers=10)
    hour = (Spent("1-a", AT_S, 30, DEMAND), Spent("1-b", AT_S, 2, HINT))
    cluster = Cluster(spent=hour)

    left = {purpose: left_this_hour(cluster, purpose, settings, NOW_S) for purpose in (DEMAND, REPAIR, HINT)}

    assert left == {DEMAND: 0, REPAIR: 30, HINT: 0}


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (Refusal.CAPACITY, "spot/m5.large/a"),
        (Refusal.QUOTA, "spot/standard"),
        (Refusal.SUBNET, "s-a"),
        (Refusal.TYPE, "default/m5.large"),
        (Refusal.REFUSED, ""),
        (Refusal.EXISTED, ""),
        (Refusal.MISMATCH, ""),
    ],
)
def test_a_refusal_bars_just_what_it_speaks_of(kind: Refusal, what: str) -> None:
    after = answered(Refused(kind, "no"), row())

    assert [bar.offering for bar in after.unavailable] == [what] * bool(what)
    assert not what or what in bars_of("default", row())
    assert after.scale_up is not None
    status = LaunchStatus.ABANDONED if kind is Refusal.REFUSED else LaunchStatus.REFUSED
    assert after.scale_up.launches[0].status is status, "only what is wrong with the pool is so everywhere"


def test_a_place_that_is_refused_again_is_left_alone_for_longer_up_to_a_limit() -> None:
    cluster, lasted_s = Cluster(), list[int]()
    for _ in range(5):
        cluster = launch_result.barred(cluster, "spot/m5.large/a", SETTINGS, "no capacity", NOW_S)
        lasted_s.append(cluster.unavailable[0].until_s - AT_S)

    first_s, most_s = SETTINGS.unavailable_s, SETTINGS.unavailable_max_s
    assert lasted_s == [first_s, 2 * first_s, 4 * first_s, most_s, most_s]


def test_where_machines_are_reclaimed_is_the_last_choice_and_none_for_a_hint() -> None:
    both = tuple(Unavailable(f"spot/m5.large/{zone}", AT_S + 60, RECLAIMED) for zone in "ab")
    others = tuple(
        Unavailable(name, AT_S + 60, "no capacity")
        for name in ("spot/m5a.large/a", "spot/m5a.large/b", "on-demand/standard")
    )

    def places(purpose: Purpose, *bars: Unavailable) -> list[str]:
        need = Need("default", 1, purpose=purpose)
        rows = intents(Cluster(unavailable=bars), snapshot(), need, 1, (), SETTINGS, NOW_S)
        return [str(each.offering) for each in rows]

    assert places(REPAIR, *both) == places(HINT, *both) == ["spot/m5a.large/a"]
    assert places(REPAIR, *both, *others) == ["spot/m5.large/a"], "nothing else is left"
    assert places(HINT, *both, *others) == []
