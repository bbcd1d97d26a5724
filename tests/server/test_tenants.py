"""Another tenant's ids are ids that do not exist: each operation with its own, a sibling's, another's, none.

S-P1: no answer holds another tenant's identifier.  S-P3: an agent speaks only for its own instance.
"""

import json
import sqlite3
from typing import Any

import pytest

from holdfast.failover.api import operations as ops
from holdfast.failover.api.operations import OPERATIONS, Caller, Operation
from holdfast.failover.tenants import TokenKind
from holdfast.server.tokens import Tokens, issue
from tests.server.running import Answer, Running
from tests.server.tenancy import Tenant, enrolled, tenant

BODIES: dict[str, Any] = {
    "switch": {"dry_run": True},
    "promote": {"dry_run": True},
    "pause": {"for_s": 60, "why": "test"},
    "gone": {"why": "test"},
    "revive": {"why": "test"},
    "recover": {"dry_run": True},
    "settings": {"standbys": 1},
    "enrol": {},
    "resume": {},
}
WITH_AGENT = [op for op in OPERATIONS if op.caller is Caller.OPERATOR and "{agent_id}" in op.path]
WITH_INSTANCE = [ops.INSTANCE, ops.GONE, ops.REVIVE, ops.PROMOTE]
OF_AGENTS = [op for op in OPERATIONS if op.caller is Caller.AGENT]


@pytest.fixture(scope="module")
def shop(server: Running) -> Tenant:
    return tenant(server, "shop", "db", "cache")


@pytest.fixture(scope="module")
def bank(server: Running) -> Tenant:
    return tenant(server, "bank", "ledger", "queue")


def same_refusal(one: Answer, other: Answer, of_one: str, of_other: str) -> None:
    """Equal but for the id that the caller itself has sent."""
    assert (one.http_status, one.code) == (other.http_status, other.code) == (404, "NOT_FOUND")
    assert str(one.error).replace(of_one, "X") == str(other.error).replace(of_other, "X")


@pytest.mark.parametrize("operation", WITH_AGENT, ids=lambda op: op.name)
def test_a_foreign_group_is_as_good_as_none(
    server: Running, shop: Tenant, bank: Tenant, operation: Operation
) -> None:
    body = BODIES.get(operation.name)
    foreign = server.call(operation, shop.token, body, agent_id="ledger")
    missing = server.call(operation, shop.token, body, agent_id="nothing")
    same_refusal(foreign, missing, "ledger", "nothing")
    own = server.call(operation, shop.token, body, agent_id="db")
    assert own.code != "NOT_FOUND", own


@pytest.mark.parametrize("operation", WITH_INSTANCE, ids=lambda op: op.name)
def test_a_foreign_instance_is_as_good_as_none(
    server: Running, shop: Tenant, bank: Tenant, operation: Operation
) -> None:
    theirs, body = bank.instances["ledger"].instance_id, BODIES.get(operation.name)
    field = "replica_id" if operation is ops.PROMOTE else "instance_id"
    foreign = server.call(operation, shop.token, body, **{field: theirs})
    missing = server.call(operation, shop.token, body, **{field: "i-nothing"})
    same_refusal(foreign, missing, theirs, "i-nothing")


def agents_call(server: Running, operation: Operation, token: str, agent_id: str, instance_id: str) -> Answer:
    if operation is ops.GOAL:
        return server.call(operation, token, agent_id=agent_id, instance_id=instance_id)
    body: dict[str, Any] = {"instance_id": instance_id, "session": "s-1"}
    if operation is ops.HEARTBEAT:
        body["epoch"] = 0
    return server.call(operation, token, body, agent_id=agent_id)


@pytest.mark.parametrize("operation", OF_AGENTS, ids=lambda op: op.name)
def test_an_agent_speaks_only_for_its_own_instance(
    server: Running, shop: Tenant, bank: Tenant, operation: Operation
) -> None:
    mine, sibling, theirs = shop.instances["db"], shop.instances["cache"], bank.instances["ledger"]
    for agent_id, instance_id in (
        (sibling.agent_id, sibling.instance_id),
        (mine.agent_id, sibling.instance_id),
        (sibling.agent_id, mine.instance_id),
        (theirs.agent_id, theirs.instance_id),
        ("nothing", "i-nothing"),
    ):
        answer = agents_call(server, operation, mine.token, agent_id, instance_id)
        assert (answer.http_status, answer.code) == (404, "NOT_FOUND"), (agent_id, instance_id, answer)
    assert agents_call(server, operation, mine.token, mine.agent_id, mine.instance_id).http_status == 200


def registers_as(server: Running, token: str, agent_id: str, instance_id: str) -> Answer:
    body = {"agent_id": agent_id, "instance_id": instance_id, "session": "s-1", "boot_id": "b-1"}
    return server.call(ops.REGISTER, token, body)


def test_an_agent_registers_as_no_other(server: Running, shop: Tenant, bank: Tenant) -> None:
    """Neither as a member of its own group, nor in another one; and a bound enrolment is for its instance."""
    twin = enrolled(server, shop, "db", "shop-db-twin")
    mine, sibling, theirs = shop.instances["db"], shop.instances["cache"], bank.instances["ledger"]
    bound = server.token(TokenKind.ENROLMENT, client_id="shop", agent_id="db", instance_id="shop-db-new")
    for token, agent_id, instance_id in (
        (mine.token, "db", twin.instance_id),
        (mine.token, "db", "shop-db-new"),
        (mine.token, "cache", mine.instance_id),
        (mine.token, "cache", sibling.instance_id),
        (mine.token, "ledger", theirs.instance_id),
        (bound, "db", twin.instance_id),
        (bound, "cache", "shop-db-new"),
    ):
        answer = registers_as(server, token, agent_id, instance_id)
        assert (answer.http_status, answer.code) == (404, "NOT_FOUND"), (agent_id, instance_id, answer)
    assert registers_as(server, mine.token, "db", mine.instance_id).http_status == 200
    assert registers_as(server, bound, "db", "shop-db-new").http_status == 200


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda op: op.name)
def test_every_operation_refuses_a_token_of_another_kind(
    server: Running, shop: Tenant, operation: Operation
) -> None:
    tokens = {
        TokenKind.OPERATOR: shop.token,
        TokenKind.AGENT: shop.instances["db"].token,
        TokenKind.ADMIN: server.token(TokenKind.ADMIN),
        TokenKind.ENROLMENT: server.token(TokenKind.ENROLMENT, client_id="shop", agent_id="db"),
    }
    allowed = {
        Caller.OPERATOR: {TokenKind.OPERATOR},
        Caller.AGENT: {TokenKind.AGENT},
        Caller.ADMIN: {TokenKind.ADMIN},
        Caller.ENROLMENT: {TokenKind.ENROLMENT, TokenKind.AGENT},
    }[operation.caller]
    for kind, token in tokens.items():
        if kind not in allowed:
            answer = server.call(
                operation, token, {}, agent_id="db", instance_id="x", replica_id="x", token_id="x"
            )
            assert (answer.http_status, answer.code) == (403, "FORBIDDEN"), (kind, answer)
    for wrong in ("", "nonsense", "hfo_" + "A" * 43):
        answer = server.call(
            operation, wrong, {}, agent_id="db", instance_id="x", replica_id="x", token_id="x"
        )
        assert (answer.http_status, answer.code) == (401, "UNAUTHENTICATED"), (wrong, answer)
        assert "WWW-Authenticate".lower() in {name.lower() for name in answer.headers}


def test_no_answer_holds_another_tenants_names(server: Running, shop: Tenant, bank: Tenant) -> None:
    for operation in OPERATIONS:
        if operation.caller is Caller.OPERATOR and operation.method == "GET":
            answer = server.call(
                operation, shop.token, agent_id="db", instance_id=shop.instances["db"].instance_id
            )
            told = json.dumps(answer.data)
            assert "bank" not in told, operation.name
            assert "ledger" not in told, operation.name


def test_an_ended_token_opens_nothing_at_once(server: Running, shop: Tenant) -> None:
    made = server.call(ops.NEW_TOKEN, shop.token, {}).data
    assert server.call(ops.AGENTS, made["token"]).http_status == 200
    assert server.call(ops.END_TOKEN, shop.token, token_id=made["token_id"]).http_status == 200
    assert server.call(ops.AGENTS, made["token"]).code == "UNAUTHENTICATED"
    assert server.call(ops.END_TOKEN, shop.token, token_id=made["token_id"]).code == "NOT_FOUND"


def test_one_client_cannot_end_the_others_token(server: Running, shop: Tenant, bank: Tenant) -> None:
    theirs = server.call(ops.NEW_TOKEN, bank.token, {}).data
    assert server.call(ops.END_TOKEN, shop.token, token_id=theirs["token_id"]).code == "NOT_FOUND"
    assert server.call(ops.AGENTS, theirs["token"]).http_status == 200


def test_an_expired_token_opens_nothing(server: Running, shop: Tenant) -> None:
    old = server.token(TokenKind.OPERATOR, expires_in_s=-1.0, client_id="shop")
    assert server.call(ops.AGENTS, old).code == "UNAUTHENTICATED"
    now, clock = [0.0], Tokens(server.server.stores.tenants, lambda: now[0], lambda: 0.0)
    secret, token = issue(TokenKind.OPERATOR, now_s=0.0, expires_in_s=1.0, client_id="shop")
    server.server.stores.tenants.add_token(token)
    assert clock.find(f"Bearer {secret}") == clock.remembered(f"Bearer {secret}")
    now[0] = 1.0
    assert clock.remembered(f"Bearer {secret}") is None, "also while it is remembered"


def test_secrets_are_shown_once_and_stored_as_digests(server: Running, shop: Tenant) -> None:
    made = server.call(ops.NEW_TOKEN, shop.token, {}).data
    listed = json.dumps(server.call(ops.TOKENS, shop.token).data)
    assert made["token_id"] in listed
    assert made["token"] not in listed
    with sqlite3.connect(server.folder / "failover.db") as file:
        dumped = "\n".join(file.iterdump())
    assert made["token_id"] in dumped
    assert made["token"] not in dumped


def test_an_enrolment_is_used_once(server: Running, shop: Tenant) -> None:
    enrolment = server.call(ops.ENROL, shop.token, {}, agent_id="db").data["token"]
    body = {"agent_id": "db", "instance_id": "once-1", "session": "s-1", "boot_id": "b-1"}
    first = server.call(ops.REGISTER, enrolment, body)
    assert first.http_status == 200
    again = server.call(ops.REGISTER, enrolment, body)
    assert again.http_status == 200, "its answer may have been lost"
    assert server.call(ops.REGISTER, first.data["token"], body).code == "UNAUTHENTICATED", "replaced"
    assert server.call(ops.REGISTER, again.data["token"], body).http_status == 200
    other = server.call(ops.REGISTER, enrolment, {**body, "instance_id": "once-2"})
    assert other.code in ("UNAUTHENTICATED", "NOT_FOUND"), other
