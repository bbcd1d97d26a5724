"""Who costs what: all shares and what is not requested are the fleet's price, no more and no less."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.autoscaler.money.rates import rates
from holdfast.autoscaler.money.shares import fleet_cost, workload_of
from holdfast.autoscaler.report.cost import cost_gauges
from holdfast.cloud import Market, Offering, Prices, State
from tests.workloads import instance, node, pod

PRICES = Prices(
    {
        Offering("eu-1a", Market.SPOT, "t3.medium"): 0.4,
        Offering("eu-1a", Market.ON_DEMAND, "t3.medium"): 1.0,
    }
)


def at(name: str, **said: Any) -> Any:
    return instance(name, zone="eu-1a", **said)


def test_a_pod_bears_half_of_its_share_by_cpu_and_half_by_memory() -> None:
    machine, home = at("i-0"), node("n-0", instance_id="i-0", cpu="4", memory="8Gi")
    web = pod("web-1", node="n-0", cpu="2", memory="2Gi", namespace="shop")
    found = fleet_cost([machine], [home], [web], PRICES)
    assert found.nodes[0].requested == pytest.approx((0.5 + 0.25) / 2)
    assert found.namespaces["shop"] == pytest.approx(0.4 * 0.375)
    assert found.usd == pytest.approx(found.namespaces["shop"] + found.wasted_usd)


def test_ended_pods_and_ended_machines_cost_nothing() -> None:
    gone = at("i-1", state=State.TERMINATED)
    ended = pod("job-1", node="n-0", cpu="1", phase="Succeeded")
    found = fleet_cost([at("i-0"), gone], [node("n-0", instance_id="i-0")], [ended], PRICES)
    assert [each.instance_id for each in found.nodes] == ["i-0"]
    assert not found.namespaces


def test_a_price_that_is_not_known_is_said_and_counts_nowhere() -> None:
    strange = replace(at("i-1"), instance_type="x9.huge")
    found = fleet_cost([at("i-0"), strange], [], [], PRICES)
    assert found.unpriced == ("i-1",)
    assert (found.usd, found.on_demand_usd) == (0.4, 1.0)
    assert rates([at("i-0"), strange], PRICES).unpriced == ("i-1",)


def test_a_deployment_is_named_as_people_know_it() -> None:
    web = pod("web-7d4f-x", owner="ReplicaSet/web-7d4f", labels={"pod-template-hash": "7d4f"})
    assert workload_of(web) == "deployment/web"
    assert workload_of(pod("db-0", owner="StatefulSet/db")) == "statefulset/db"
    assert workload_of(pod("alone", owner="")) == "pod/alone"


@given(st.lists(st.tuples(st.integers(0, 3_000), st.integers(0, 6_000)), max_size=12))
def test_shares_and_what_is_not_requested_are_the_price(wants: list[tuple[int, int]]) -> None:
    pods = [pod(f"p-{n}", node="n-0", cpu=f"{cpu}m", memory=f"{mi}Mi") for n, (cpu, mi) in enumerate(wants)]
    found = fleet_cost([at("i-0")], [node("n-0", instance_id="i-0", cpu="4", memory="8Gi")], pods, PRICES)
    assert sum(found.workloads.values()) + found.wasted_usd == pytest.approx(0.4)


def test_a_monitor_gets_the_figures_of_pools_and_namespaces() -> None:
    web = pod("web-1", node="n-0", cpu="1", memory="1Gi", namespace="shop")
    fleet = fleet_cost([at("i-0")], [node("n-0", instance_id="i-0")], [web], PRICES)
    figures = {
        (name, labels.get("namespace", "")): value for name, labels, value, _ in cost_gauges(fleet, "c")
    }
    assert figures["holdfast_cost_usd_per_hour", ""] == 0.4
    assert figures["holdfast_cost_saved_usd_per_hour", ""] == pytest.approx(0.6)
    assert figures["holdfast_cost_namespace_usd_per_hour", "shop"] > 0
