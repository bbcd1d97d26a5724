"""S-P2: a request that is sent again, twice, later or out of order, changes nothing."""

import random
from typing import Any

import pytest

from holdfast.failover.api import operations as ops
from holdfast.failover.api.openapi import document
from holdfast.failover.api.operations import Operation
from tests.server.running import Answer, Running
from tests.server.tenancy import Tenant, tenant

Sent = tuple[Operation, str, Any, str, dict[str, str]]


@pytest.fixture(scope="module")
def shop(server: Running) -> Tenant:
    return tenant(server, "shop", "db")


def state(server: Running, shop: Tenant) -> Any:
    """All that requests can change: versions, settings, roles, and what was told."""
    found = server.call(ops.AGENT, shop.token, agent_id="db").data
    events = server.call(ops.HISTORY, shop.token, agent_id="db", limit=1000).data
    keep = ("version", "epoch", "primary", "settings", "switch", "paused_until_s")
    return {name: found[name] for name in keep}, [event["kind"] for event in events]


def scenario(shop: Tenant) -> list[Sent]:
    mine = shop.instances["db"]
    ids = {"instance_id": mine.instance_id, "session": mine.session}
    return [
        (ops.SETTINGS, shop.token, {"standbys": 2}, "r-1", {"agent_id": "db"}),
        (ops.REBALANCE, mine.token, {**ids, "notice_time": "now"}, "r-2", {"agent_id": "db"}),
        (ops.SETTINGS, shop.token, {"mode": "manual_replica"}, "r-3", {"agent_id": "db"}),
        (ops.SETTINGS, shop.token, {"standbys": 3}, "r-4", {"agent_id": "db"}),
        (ops.NEW_AGENT, shop.token, {"agent_id": "second"}, "r-5", {}),
        (ops.SETTINGS, shop.token, {"mode": "auto_switch"}, "r-6", {"agent_id": "db"}),
    ]


def play(server: Running, sent: Sent) -> Answer:
    operation, token, body, request_id, fields = sent
    return server.call(operation, token, body, request_id, **fields)


def test_recorded_requests_again_and_in_any_order_change_nothing(server: Running, shop: Tenant) -> None:
    recorded = scenario(shop)
    first = [play(server, sent) for sent in recorded]
    assert all(answer.http_status == 200 for answer in first), first
    before = state(server, shop)
    order = random.Random(7)
    for _ in range(3):
        numbers = [*range(len(recorded)), *range(len(recorded))]
        order.shuffle(numbers)
        for n in numbers:
            again = play(server, recorded[n])
            assert (again.http_status, again.data) == (200, first[n].data), recorded[n][0].name
    assert state(server, shop) == before


def test_an_id_that_was_used_for_another_request_is_refused(server: Running, shop: Tenant) -> None:
    assert server.call(ops.SETTINGS, shop.token, {"standbys": 5}, "reused", agent_id="db").http_status == 200
    other = server.call(ops.SETTINGS, shop.token, {"standbys": 6}, "reused", agent_id="db")
    assert (other.http_status, other.code) == (422, "REQUEST_ID_REUSED")
    assert server.call(ops.AGENT, shop.token, agent_id="db").data["settings"]["standbys"] == 5


def test_the_same_id_of_another_client_is_another_request(server: Running, shop: Tenant) -> None:
    bank = tenant(server, "bank", "db")
    for owner, wanted in ((shop, 7), (bank, 8)):
        body = {"standbys": wanted}
        assert (
            server.call(ops.SETTINGS, owner.token, body, "shared", agent_id="db").data["standbys"] == wanted
        )


def test_a_refusal_is_not_remembered(server: Running, shop: Tenant) -> None:
    """What was refused changed nothing: the same request may succeed once the reason is gone."""
    refused = server.call(ops.NEW_AGENT, shop.token, {"agent_id": "db"}, "later")
    assert refused.code == "INVALID_STATE"
    assert server.call(ops.NEW_AGENT, shop.token, {"agent_id": "third"}, "later").http_status == 200


def test_the_document_promises_no_repeated_answer_with_a_secret(server: Running, shop: Tenant) -> None:
    """What is stored are answers, and a secret is never stored."""
    made = [server.call(ops.NEW_TOKEN, shop.token, {}, "twice").data["token"] for _ in range(2)]
    assert made[0] != made[1]
    paths = document("test")["paths"]
    for operation in ops.OPERATIONS:
        named = {each["name"] for each in paths[operation.path][operation.method.lower()]["parameters"]}
        assert ("X-Request-ID" in named) is (operation.changes and not operation.secret), operation.name
