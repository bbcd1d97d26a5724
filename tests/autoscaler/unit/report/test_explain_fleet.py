"""What would have to change for the fleet to scale up or to scale down, condition by condition."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler.ports import Load
from holdfast.autoscaler.record import Cluster, Interrupted, PoolFailure, ScaleUp, Spent
from holdfast.autoscaler.report.explain import Explanation, explain
from holdfast.autoscaler.report.explain_fleet import Condition
from holdfast.autoscaler.snapshot.build import Listings
from holdfast.cloud import NoticeKind, Offering, Prices
from tests.workloads import listings, node, pending, pod

NOW = 10_000.0
NOTHING = Cluster()


def told(look: Listings, cluster: Cluster = NOTHING, **said: Any) -> Explanation:
    return explain(cluster, look, replace(look.settings, **said), NOW)


def idle(cpu: float | None = 0.1, peak: float | None = 0.2, **said: Any) -> Listings:
    nodes = [node(f"n-{n}") for n in range(1, 4)]
    return listings(
        *nodes, load=Load(cpu, peak, problem="" if cpu is not None else "Prometheus is silent"), **said
    )


IDLE_LONG = Cluster(idle_since_s=9_000)


def holds(conditions: tuple[Condition, ...]) -> dict[str, bool]:
    return {each.name: each.holds for each in conditions}


def misses(look: Listings, cluster: Cluster = IDLE_LONG, **said: Any) -> list[str]:
    fleet = told(look, cluster, **said).fleet
    return [each.name for each in fleet.scales_down_only_if if not each.holds]


def test_an_idle_fleet_scales_down_and_nothing_is_missing() -> None:
    fleet = told(idle(), IDLE_LONG).fleet

    assert (fleet.decision, fleet.why) == ("scale-down", "the workers are idle")
    assert all(each.holds for each in fleet.scales_down_only_if)
    assert all(each.holds for each in fleet.bars_to_scale_up)
    assert not any(each.holds for each in fleet.reasons_to_scale_up)


@pytest.mark.parametrize(
    ("look", "cluster", "said", "missing"),
    [
        (idle(0.5), IDLE_LONG, {}, ["little load"]),
        (idle(0.1, 0.6), IDLE_LONG, {}, ["little load"]),
        (idle(None), IDLE_LONG, {}, ["little load"]),
        (idle(), Cluster(), {}, ["idle long enough"]),
        (idle(), Cluster(idle_since_s=9_500), {}, ["idle long enough"]),
        (idle(), replace(IDLE_LONG, last_scale_s=9_700), {}, ["cool-down after the last action"]),
        (idle(), replace(IDLE_LONG, paused_until_s=10_300, paused_why="release"), {}, ["not paused"]),
        (idle(), IDLE_LONG, {"min_workers": 3}, ["above the floor", "a node that may leave"]),
        (idle(troubles=("x",)), IDLE_LONG, {}, ["nothing troubles"]),
        (
            idle(),
            replace(
                IDLE_LONG, interrupted=(Interrupted("i-elsewhere", NoticeKind.INTERRUPTION, 9_990, 10_100),)
            ),
            {},
            ["no notice unanswered"],
        ),
        (
            idle(pods=[pending(f"web-{n}", cpu="2") for n in range(5)]),
            IDLE_LONG,
            {},
            ["nothing pending"],
        ),
        (idle(), replace(IDLE_LONG, scale_up=ScaleUp("9-a", 9_000, 1)), {}, ["no action in progress"]),
        (
            idle(pods=[pod(node=f"n-{n}", owner="") for n in (1, 2, 3)]),
            IDLE_LONG,
            {},
            ["a node that may leave"],
        ),
    ],
)
def test_what_keeps_the_fleet_from_scaling_down_is_named(
    look: Listings, cluster: Cluster, said: dict[str, Any], missing: list[str]
) -> None:
    assert misses(look, cluster, **said) == missing


def test_it_says_how_much_is_missing() -> None:
    fleet = told(idle(0.42, 0.5), Cluster(idle_since_s=9_500, last_scale_s=9_700)).fleet
    says = {each.name: each.says for each in fleet.scales_down_only_if}

    assert says["little load"] == "CPU is 42 %, was 50 % at most, and must stay below 30 % (CPU_DOWN)"
    until_now = "idle for 8m20s of 10m (IDLE_DOWN_SEC) until now; the next tick counts anew"
    assert says["idle long enough"] == until_now
    assert says["cool-down after the last action"] == "5m of 10m left"
    unknown = {each.name: each.says for each in told(idle(None), IDLE_LONG).fleet.scales_down_only_if}
    assert unknown["little load"] == "the load is not known: Prometheus is silent"


def test_reasons_to_scale_up_and_what_is_against_it() -> None:
    look = idle(0.9, pods=[pending(f"web-{n}", cpu="2") for n in range(5)])
    record = Cluster(
        pending_since_s=9_700,
        last_up_s=9_900,
        pool_failures=(PoolFailure("default", 3, 10_060, "no image"),),
        spent=(Spent("9-a", 9_500, 30),),
    )

    fleet = told(look, record, max_workers=3).fleet

    assert holds(fleet.reasons_to_scale_up) == {
        "below the floor": False,
        "pods are pending": True,
        "busy": True,
    }
    assert holds(fleet.bars_to_scale_up) == {
        "no action in progress": True,
        "not paused": True,
        "cool-down after the last scale-up": False,
        "maximum size": False,
        "back-off": False,
        "launches of this hour": False,
        "repairs of this hour": True,
        "launches for hints of this hour": True,
        "launches for replacements by choice of this hour": True,
        "pools in order": True,
        "somewhere to scale up": True,
    }
    says = {each.name: each.says for each in (*fleet.reasons_to_scale_up, *fleet.bars_to_scale_up)}
    assert says["pods are pending"] == (
        "2 pods wait for room, PENDING_UP_SEC is 180, waiting for 5m and in need of 2 more workers"
    )
    assert says["back-off"] == (
        "pool default: 3 scale-ups in a row failed, nothing is launched for 1m more (no image)"
    )
    assert says["launches of this hour"] == "30 of 9 spent"
    assert fleet.decision == "hold"


def test_pods_that_have_room_already_or_wait_too_short_are_no_reason_yet() -> None:
    roomy = idle(pods=[pending()])
    says = told(roomy, Cluster(pending_since_s=9_000)).fleet.reasons_to_scale_up[1]
    assert not says.holds
    assert says.says == "0 pods wait for room, PENDING_UP_SEC is 180"
    full = idle(pods=[pending(f"web-{n}", cpu="2") for n in range(5)])
    assert not told(full, Cluster(pending_since_s=9_900)).fleet.reasons_to_scale_up[1].holds
    assert told(full, Cluster(pending_since_s=9_700)).fleet.decision == "scale-up"


def test_a_fleet_below_its_floor_wants_to_scale_up() -> None:
    fleet = told(idle(), min_workers=5).fleet

    assert fleet.reasons_to_scale_up[0].holds
    assert fleet.reasons_to_scale_up[0].says == "3 workers there or on their way, MIN_WORKERS is 5: 2 missing"
    assert (fleet.decision, fleet.why) == ("scale-up", "below the floor")


def test_a_pool_without_a_known_subnet_is_named() -> None:
    fleet = told(idle(zones={})).fleet
    condition = next(each for each in fleet.bars_to_scale_up if each.name == "somewhere to scale up")

    assert (condition.holds, condition.says) == (False, "no known subnet: pool default")


def test_a_fleet_from_which_no_node_may_leave_holds() -> None:
    kept = idle(pods=[pod(node=f"n-{n}", owner="") for n in (1, 2, 3)])
    fleet = told(kept, IDLE_LONG).fleet

    assert (fleet.decision, fleet.why) == ("hold", "idle: no worker may leave now")


@pytest.mark.parametrize(("usd_per_hour_max", "holds_now"), [(0.0, None), (0.01, False), (100.0, True)])
def test_a_ceiling_on_the_cost_bars_a_scale_up(usd_per_hour_max: float, holds_now: bool | None) -> None:
    look = idle()
    usd = {Offering(each.zone, each.market, each.instance_type): 0.02 for each in look.instances}
    look = replace(look, prices=Prices(usd))
    bars = told(look, IDLE_LONG, usd_per_hour_max=usd_per_hour_max).fleet.bars_to_scale_up

    assert holds(bars).get("cost ceiling") is holds_now
    assert all("USD_PER_HOUR_MAX" in bar.says for bar in bars if bar.name == "cost ceiling")
