"""Hints have a small budget of their own and come second; what is certain is replaced first, elsewhere."""

from dataclasses import replace

from holdfast.autoscaler import interruption
from holdfast.autoscaler.record import DECLINED, Cluster, Interrupted, Purpose, Spent, Unavailable
from holdfast.autoscaler.scale_up.offering_ranks import RECLAIMED
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.workflow import workflow
from holdfast.cloud import Market, Notice, NoticeKind
from holdfast.kernel import Write
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, snapshot, worker

AT_S = int(NOW_S)
FOUR = tuple(worker(f"i-{n}", "ab"[n % 2]) for n in range(4))
FLEET = replace(SETTINGS, min_workers=4, max_workers=10)
HINTED = tuple(Interrupted(f"i-{n}", NoticeKind.REBALANCE, AT_S, AT_S) for n in (0, 1, 2))
CERTAIN = Interrupted("i-3", NoticeKind.INTERRUPTION, AT_S, AT_S + 120)


def first_write(cluster: Cluster, settings: Settings = FLEET) -> Write[Cluster]:
    ahead = workflow(settings).step(cluster, snapshot(*FOUR), NOW_S)
    assert isinstance(ahead, Write)
    return ahead


def test_what_is_certain_is_asked_for_before_any_hint() -> None:
    begun = first_write(Cluster(interrupted=(HINTED[0], CERTAIN)))

    assert begun.value.scale_up is not None
    assert [row.purpose for row in begun.value.scale_up.launches] == [Purpose.REPAIR]
    assert {one.instance_id for one in begun.value.interrupted if one.replacement} == {"i-3"}


def test_certain_ones_are_replaced_though_the_hour_of_demand_is_spent() -> None:
    spent = (Spent("1-a", AT_S, FLEET.budget_of(Purpose.DEMAND), Purpose.DEMAND),)

    begun = first_write(Cluster(interrupted=(CERTAIN,), spent=spent))

    assert begun.value.scale_up is not None


def test_hints_beyond_their_hour_are_told_and_not_followed() -> None:
    budget = FLEET.budget_of(Purpose.HINT)
    assert budget == 2

    declined = first_write(Cluster(interrupted=HINTED))

    assert [(event.kind, event.about) for event in declined.events] == [("notReplaced", "i-2")]
    assert declined.value.interrupted[2].replacement == DECLINED
    none_left = first_write(Cluster(interrupted=HINTED, spent=(Spent("1-a", AT_S, budget, Purpose.HINT),)))
    assert len(none_left.events) == 3


def test_hints_beyond_the_greatest_size_are_not_followed_either() -> None:
    small = replace(FLEET, min_workers=2, max_workers=3, rebalances_per_hour_max=9)

    declined = first_write(Cluster(interrupted=HINTED), small)

    assert [event.reason for event in declined.events] == ["a hint: the fleet has its maximum size"]
    assert [one.replacement for one in declined.value.interrupted] == ["", "", DECLINED]


def folded(cluster: Cluster, notice: Notice, market: Market = Market.SPOT) -> Cluster:
    seen = snapshot(worker("i-0", market=market), *FOUR[1:], notices=(notice,))
    write = interruption.fold(cluster, seen, FLEET, NOW_S)
    assert write is not None
    return write.value


def test_a_hint_that_was_declined_and_becomes_certain_is_decided_anew() -> None:
    certain = Notice("i-0", NoticeKind.INTERRUPTION, AT_S, AT_S + 120)

    for before, after in ((DECLINED, ""), ("1-up", "1-up")):
        known = Cluster(interrupted=(replace(HINTED[0], replacement=before),))
        (row,) = folded(known, certain).interrupted
        assert (row.kind, row.replacement) == (NoticeKind.INTERRUPTION, after)


def test_where_a_machine_is_taken_back_is_left_alone_and_a_lack_of_capacity_is_remembered_as_such() -> None:
    notice = Notice("i-0", NoticeKind.INTERRUPTION, AT_S, AT_S + 120)
    gone = Notice("i-0", NoticeKind.GONE, AT_S)
    dry = Unavailable("spot/m5.large/a", AT_S + 60, "no capacity", 3)

    (bar,) = folded(Cluster(), notice).unavailable
    assert (bar.offering, bar.reason) == ("spot/m5.large/a", RECLAIMED)
    assert folded(Cluster(unavailable=(dry,)), notice).unavailable == (dry,)
    assert (
        folded(Cluster(unavailable=(replace(dry, until_s=AT_S),)), notice).unavailable[0].reason == RECLAIMED
    )
    assert folded(Cluster(), gone).unavailable == (), "it may have died of anything"
    assert folded(Cluster(), notice, Market.ON_DEMAND).unavailable == ()
