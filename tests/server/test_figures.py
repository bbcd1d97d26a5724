"""Figures by the designs' names: what was done is counted, what is so is asked of the database."""

import re

import pytest

from holdfast.failover.api import operations as ops
from tests.server.agents import Fleet, until
from tests.server.running import Running
from tests.server.tenancy import Tenant, tenant


@pytest.fixture(scope="module")
def shop(server: Running) -> Tenant:
    return tenant(server, "shop")


def figure(server: Running, name: str, **labels: str) -> float:
    """The sum over all series of this name that have these labels."""
    text = server.http.request("GET", f"{server.url}/metrics").data.decode()
    found = re.findall(rf"^{name}(?:{{(.*)}})? (\S+)$", text, re.MULTILINE)
    wanted = [f'{label}="{value}"' for label, value in labels.items()]
    return sum(float(value) for told, value in found if all(each in told for each in wanted))


def test_a_handover_is_counted_and_timed(server: Running, shop: Tenant) -> None:
    assert server.call(ops.NEW_AGENT, shop.token, {"agent_id": "counted"}).http_status == 200
    with Fleet(server, shop, "counted", 2) as agents:
        first = agents.serving()
        until(lambda: figure(server, "instance_promotions_total", client="shop", kind="first") == 1)
        first.alive = False
        until(lambda: figure(server, "instance_promotions_total", client="shop", kind="emergency") == 1)
        timed = "instance_promotion_duration_seconds_count"
        until(lambda: figure(server, timed, client="shop", kind="emergency") == 1)
        until(lambda: figure(server, "instance_revocations_total", client="shop", code="LEASE_LOST") == 1)


def test_a_failed_promotion_is_counted(server: Running, shop: Tenant) -> None:
    assert server.call(ops.NEW_AGENT, shop.token, {"agent_id": "failing"}).http_status == 200
    with Fleet(server, shop, "failing", 2) as agents:
        agents.agents[0].fails_promotion = True
        until(lambda: figure(server, "instance_promotion_failures_total", client="shop") == 1)
        assert agents.serving() is agents.agents[1]


def test_what_is_so_is_asked_of_the_database(server: Running, shop: Tenant) -> None:
    bank = tenant(server, "bank", "ledger")
    assert figure(server, "failover_database_up") == 1
    assert figure(server, "failover_groups_with_several_primaries") == 0
    assert figure(server, "instance_status", client="bank", status="running_replica") == len(bank.instances)
    assert figure(server, "failover_groups_degraded", client="bank") == 1
    assert figure(server, "failover_http_requests_total", operation="new_agent", status="200") >= 1
