"""What keeps a worker from being replaced by choice, guard by guard."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler.disruption import dear, rotation, share
from holdfast.autoscaler.record import (
    READY,
    Cluster,
    Condemned,
    Disrupted,
    Interrupted,
    PoolFailure,
    Purpose,
    ScaleDown,
    Skip,
    Spent,
    Target,
)
from holdfast.autoscaler.settings import Disruption, Pool
from holdfast.autoscaler.snapshot import Snapshot, Worker
from holdfast.cloud import Market, NoticeKind, Offering, Prices
from holdfast.kernel import Invalid, Write
from tests.autoscaler.unit.disruption.consolidating import CALM, with_disruption
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, booting, snapshot, worker

AT_S = int(NOW_S)
ROW = Interrupted("i-2", NoticeKind.REPLACE, AT_S - 60, AT_S + 3_540, why="older than 1d")
NOTICE = Interrupted("i-3", NoticeKind.INTERRUPTION, AT_S - 60, AT_S + 60, READY)
THREE = (worker("i-1"), worker("i-2", "b"), worker("i-3"))
DRAINING = ScaleDown("9-b", AT_S - 9, (Target("i-3"),))


def look(*workers: Worker, **said: Any) -> Snapshot:
    return snapshot(*(workers or THREE), cpu=0.4, **said)


@pytest.mark.parametrize(
    ("cluster", "said", "why"),
    [
        (CALM, {}, ""),
        (replace(CALM, interrupted=(ROW,)), {}, ""),
        (replace(CALM, interrupted=(replace(ROW, instance_id="i-1"),)), {}, "i-1 is being replaced"),
        (replace(CALM, scale_down=DRAINING), {}, "another action is open"),
        (replace(CALM, interrupted=(NOTICE,)), {}, "the cloud takes others back"),
        (replace(CALM, paused_until_s=AT_S + 9), {}, "paused"),
        (CALM, {"troubles": ("nodes are missing",)}, "nodes are missing"),
        (CALM, {"pending": 1}, "pods wait for room"),
        (replace(CALM, disrupted=(Disrupted("i-9", AT_S - 3_599),)), {}, "within the hour"),
        (replace(CALM, disrupted=(Disrupted("i-9", AT_S - 3_600),)), {}, ""),
        (
            replace(CALM, spent=(Spent("9-a", AT_S - 9, 2, Purpose.ROTATION),)),
            {},
            "the launches of this hour are spent",
        ),
        (replace(CALM, skipped=(Skip("i-2", "a pod", AT_S + 9),)), {}, "it was tried and kept: a pod"),
        (replace(CALM, skipped=(Skip("i-2", "a pod", AT_S),)), {}, ""),
        (replace(CALM, skipped=(Skip("i-1", "a pod", AT_S + 9),)), {}, ""),
        (
            replace(CALM, pool_failures=(PoolFailure("default", 1, AT_S + 9, "no image"),)),
            {},
            "pool default backs off",
        ),
        (CALM, {"stays_put": lambda i: "a pod must stay"}, "a pod must stay"),
        (CALM, {"fits_on_new": lambda i: "a pod fits nowhere"}, "a pod fits nowhere"),
    ],
)
def test_an_operator_is_told_what_a_replacement_waits_for(cluster: Cluster, said: Any, why: str) -> None:
    found = rotation.waits_for(cluster, look(**said), THREE[1], SETTINGS, NOW_S)

    assert why in found
    assert bool(found) == bool(why)


def test_one_is_asked_for_at_a_time_and_none_while_something_bars_all() -> None:
    chosen = replace(CALM, interrupted=(ROW,))
    assert isinstance(rotation.launch(chosen, look(), SETTINGS, NOW_S), Write)

    under_way = replace(ROW, instance_id="i-1", replacement="8-a")
    for cluster, said in (
        (replace(CALM, interrupted=(under_way, ROW)), {}),
        (replace(chosen, scale_down=DRAINING), {}),
        (replace(chosen, interrupted=(ROW, NOTICE)), {}),
        (chosen, {"pending": 1}),
        (chosen, {"troubles": ("nodes are missing",)}),
    ):
        assert rotation.launch(cluster, look(**said), SETTINGS, NOW_S) == ()


def test_one_whose_drain_has_begun_is_not_withdrawn() -> None:
    def withdrawn(row: Interrupted, **of_it: Any) -> bool:
        seen = look(THREE[0], worker("i-2", "b", **of_it), fits_without=lambda leaving, closed: "no place")
        return rotation.withdraw(replace(CALM, interrupted=(row,)), seen, NOW_S) is not None

    ready = replace(ROW, replacement=READY)
    assert withdrawn(ready)
    assert not withdrawn(ready, cordons=frozenset({ready.action_id}))
    assert not withdrawn(replace(ready, drained=True))
    assert not withdrawn(replace(ready, replacement="8-a"))


@pytest.mark.parametrize(
    ("machine", "cluster", "says"),
    [
        (worker("i-1"), CALM, "no worker has this name"),
        (worker("i-2", action_id=""), CALM, "did not launch"),
        (
            worker("i-2"),
            replace(CALM, condemned=(Condemned("i-2", "9-a", "x", AT_S),)),
            "terminating already",
        ),
        (worker("i-2"), replace(CALM, interrupted=(replace(NOTICE, instance_id="i-2"),)), "it has a notice"),
        (worker("i-2", ready=False), CALM, "not in service"),
        (worker("i-2", joining=True), CALM, "not in service"),
        (booting("i-2"), CALM, "not in service"),
    ],
)
def test_what_cannot_be_replaced_is_refused_with_the_reason(
    machine: Worker, cluster: Cluster, says: str
) -> None:
    with pytest.raises(Invalid, match=says):
        rotation.named(cluster, look(machine), "i-2")


def test_what_is_replaced_already_or_leaves_is_not_asked_for_again() -> None:
    assert rotation.asked(CALM, "i-2", "an operator asks", NOW_S) is not None
    assert rotation.asked(replace(CALM, interrupted=(ROW,)), "i-2", "again", NOW_S) is None
    condemned = replace(CALM, condemned=(Condemned("i-2", "9-a", "x", AT_S),))
    assert rotation.asked(condemned, "i-2", "again", NOW_S) is None


def test_only_a_machine_of_ours_of_which_the_age_is_known_is_too_old() -> None:
    aged = replace(SETTINGS, disruption=Disruption(max_age_s=3_600))
    machines = (worker("i-1"), worker("i-2", action_id=""), worker("i-3", launched_s=0))

    found = [each.instance_id for each, _ in rotation.due(CALM, look(*machines), aged, NOW_S)]
    assert found == ["i-1"]


def test_a_template_that_the_machine_does_not_tell_is_no_drift() -> None:
    drifting = replace(SETTINGS, disruption=Disruption(drift=True))
    unknown = replace(THREE[0], instance=replace(THREE[0].instance, template=""))

    assert rotation.drifted(unknown, look(), drifting) == ""
    assert rotation.drifted(unknown, look(templates={}), drifting) == ""


DEAR = worker("i-3", market=Market.ON_DEMAND)
CHEAP, USUAL = Offering("a", Market.SPOT, "m5.large"), Offering("a", Market.ON_DEMAND, "m5.large")
SMALLER = Offering("a", Market.ON_DEMAND, "m5a.large")


def saves(machine: Worker = DEAR, pool: Pool = SETTINGS.pools[0], **usd: float) -> list[Any]:
    prices = Prices({CHEAP: usd.get("spot", 0.04), USUAL: 0.1, SMALLER: usd.get("smaller", 0.1)})
    settings = replace(with_disruption(saving_min=0.15), pools=(pool,))
    seen = look(*THREE[:2], machine, prices=prices)
    return [(each.worker.instance_id, each.offerings) for each in dear.savings(CALM, seen, settings, NOW_S)]


def test_a_machine_is_dear_only_if_another_saves_enough() -> None:
    assert saves() == [("i-3", (CHEAP,))]
    assert saves(spot=0.085) == [("i-3", (CHEAP,))]
    assert saves(spot=0.0851) == []


def test_a_machine_that_is_not_ours_is_not_dear() -> None:
    assert saves(worker("i-3", market=Market.ON_DEMAND, action_id="")) == []


def test_a_pool_of_on_demand_is_not_moved_to_spot() -> None:
    on_demand = replace(SETTINGS.pools[0], market=Market.ON_DEMAND)

    assert saves(pool=on_demand) == []
    assert saves(pool=on_demand, smaller=0.05) == [("i-3", (SMALLER,))]


def test_a_dear_one_that_must_stay_is_not_chosen() -> None:
    settings, prices = with_disruption(saving_min=0.15), Prices({CHEAP: 0.04, USUAL: 0.1})

    def chosen(cluster: Cluster = CALM, **said: Any) -> bool:
        seen = look(*THREE[:2], DEAR, prices=prices, **said)
        return rotation.fold(cluster, seen, settings, NOW_S) is not None

    assert chosen()
    assert not chosen(stays_put=lambda i: "do-not-disrupt")
    assert not chosen(replace(CALM, skipped=(Skip("i-3", "a pod", AT_S + 9),)))


def test_what_was_disrupted_within_the_hour_is_kept_and_counts() -> None:
    before = replace(CALM, disrupted=(Disrupted("i-7", AT_S - 3_600), Disrupted("i-8", AT_S - 3_599)))

    booked = share.booked(before, "i-9", NOW_S)
    assert [one.instance_id for one in booked.disrupted] == ["i-8", "i-9"]
    ten = look(*(worker(f"i-{n}") for n in range(10)))
    half = replace(SETTINGS, disruption=Disruption(share_per_hour=0.5))
    assert [share.left(each, ten, half, NOW_S) for each in (CALM, before, booked)] == [5, 4, 3]
    few = replace(SETTINGS, disruption=Disruption(share_per_hour=0.19))
    assert share.left(CALM, ten, few, NOW_S) == 1, "a share is rounded down"
