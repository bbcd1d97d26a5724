"""Nodes that are underused or dear: emptied when their pods fit elsewhere, or replaced by cheaper ones."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler.decide import Hold
from holdfast.autoscaler.disruption import rotation
from holdfast.autoscaler.disruption.windows import window
from holdfast.autoscaler.record import Disrupted, Interrupted, Purpose, Skip, Unavailable, Underused
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.snapshot.build import build
from holdfast.cloud import Market, NoticeKind, Offering, Prices
from tests.autoscaler.unit.disruption.consolidating import (
    CALM,
    CONSOLIDATING,
    LONG_AGO,
    THREE,
    concluded,
    stepped,
    with_disruption,
)
from tests.autoscaler.unit.snapshots import NOW_S, snapshot, worker
from tests.workloads import daemon, listings, node, pod

AT_S = int(NOW_S)
IDLE = replace(CALM, underused=(Underused("i-2", LONG_AGO), Underused("i-3", LONG_AGO)))


def using(**parts: float) -> Callable[[str], float]:
    return lambda instance_id: parts.get(instance_id.replace("-", "_"), 1.0)


def look(**said: Any) -> Snapshot:
    return snapshot(*THREE, cpu=0.4, **{"used": using(i_2=0.4, i_3=0.1), **said})


def test_a_node_of_which_little_is_asked_is_noted_and_the_least_used_is_emptied() -> None:
    noted = stepped(CALM, look())
    assert [(e.kind, e.about) for e in noted.events] == [("nodeUnderused", "i-2"), ("nodeUnderused", "i-3")]
    begun = stepped(IDLE, look())
    assert begun.value.scale_down.targets[0].instance_id == "i-3"
    assert begun.value.scale_down.reason == "NodeUnderused"
    assert begun.value.disrupted == (Disrupted("i-3", AT_S),), "it counts for the share an hour"


@pytest.mark.parametrize(
    ("cluster", "said", "settings"),
    [
        (replace(IDLE, underused=(Underused("i-3", AT_S - 3_599),)), {}, CONSOLIDATING),
        (replace(IDLE, disrupted=(Disrupted("i-9", AT_S - 9),)), {}, CONSOLIDATING),
        (IDLE, {"must_stay": lambda i: "a budget"}, CONSOLIDATING),
        (IDLE, {"pending": 1}, CONSOLIDATING),
        (IDLE, {"used": using()}, CONSOLIDATING),
        (IDLE, {}, with_disruption(windows=(window("0 0 1 1 * for 1m"),))),
        (IDLE, {}, with_disruption(underused_below=0.0)),
        (replace(IDLE, skipped=tuple(Skip(i, "a pod", AT_S + 9) for i in ("i-2", "i-3"))), {}, CONSOLIDATING),
    ],
    ids=["too soon", "share", "blocked", "pending", "in use again", "window", "off", "kept before"],
)
def test_what_keeps_it(cluster: Any, said: Any, settings: Any) -> None:
    assert isinstance(concluded(cluster, look(**said), settings), Hold)


def test_what_is_used_is_what_pods_ask_for_that_would_have_to_move() -> None:
    seen = build(
        listings(
            node("n-1"),
            node("n-2"),
            pods=[
                daemon(node="n-1", cpu="1"),
                pod("a", node="n-1", cpu="500m"),
                pod("b", node="n-2", memory="3Gi"),
            ],
        )
    )
    assert seen.used("i-1") == pytest.approx(0.25)
    assert seen.used("i-2") == pytest.approx(0.75)
    assert seen.used("i-9") == 1.0


DEAR = (worker("i-1"), worker("i-2", "b"), worker("i-3", market=Market.ON_DEMAND))
SPOT, OTHER = Offering("a", Market.SPOT, "m5.large"), Offering("a", Market.SPOT, "m5a.large")
PRICES = {
    SPOT: 0.04,
    OTHER: 0.05,
    Offering("b", Market.SPOT, "m5.large"): 0.04,
    Offering("a", Market.ON_DEMAND, "m5.large"): 0.1,
}


def dear(**said: Any) -> Snapshot:
    return snapshot(*DEAR, cpu=0.4, **{"prices": Prices(PRICES), **said})


def test_a_node_that_costs_more_than_one_that_would_do_is_replaced_and_the_saving_is_told() -> None:
    first = stepped(CALM, dear())
    (event,) = first.events
    assert (event.kind, event.about, event.numbers) == ("replacing", "i-3", {"savesUsdPerHour": 0.06})
    assert event.reason == "dear: it costs 0.1 dollars an hour, and spot/m5.large/a 0.04"
    (row,) = first.value.interrupted
    assert row.usd_max == pytest.approx(0.085)
    then = stepped(first.value, dear())
    (launch,) = then.value.scale_up.launches
    assert (launch.offering, launch.usd_max, launch.purpose) == (SPOT, row.usd_max, Purpose.ROTATION)


def test_it_is_asked_for_nowhere_where_it_would_save_nothing() -> None:
    row = Interrupted("i-3", NoticeKind.REPLACE, AT_S - 9, AT_S + 900, why="dear", usd_max=0.085)
    cluster = replace(
        CALM,
        interrupted=(row,),
        unavailable=tuple(Unavailable(str(each), AT_S + 90, "none") for each in (SPOT, OTHER)),
    )
    let_go = stepped(cluster, dear())
    assert [e.kind for e in let_go.events] == ["drainSkipped"]
    assert let_go.value.scale_up is None


@pytest.mark.parametrize(
    ("cluster", "said", "settings"),
    [
        (CALM, {"prices": Prices({})}, CONSOLIDATING),
        (CALM, {"prices": Prices({**PRICES, SPOT: 0.09, OTHER: 0.09})}, CONSOLIDATING),
        (CALM, {"types_for": lambda i: ("m5.24xlarge",)}, CONSOLIDATING),
        (CALM, {}, with_disruption(saving_min=0.0)),
        (CALM, {}, with_disruption(consolidation=False)),
        (
            replace(CALM, unavailable=tuple(Unavailable(str(o), AT_S + 9, "none") for o in (SPOT, OTHER))),
            {},
            CONSOLIDATING,
        ),
    ],
    ids=["no prices", "little saved", "too small", "off", "no consolidation", "no capacity"],
)
def test_what_keeps_a_dear_one(cluster: Any, said: Any, settings: Any) -> None:
    assert rotation.fold(cluster, dear(**said), settings, NOW_S) is None
