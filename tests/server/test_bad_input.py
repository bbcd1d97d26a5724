"""Whatever is sent, the answer is a documented refusal that says what is wrong; nothing changes or leaks."""

import json
import socket
from contextlib import suppress
from typing import Any

import pytest

from holdfast.failover.api import operations as ops
from holdfast.failover.api.openapi import refusals
from holdfast.failover.api.operations import OPERATIONS, Operation
from holdfast.server.calls import PLAIN
from holdfast.server.heads import HEAD_MAX
from tests.server.running import Answer, Running
from tests.server.tenancy import Tenant, tenant

BODIED = [operation for operation in OPERATIONS if operation.body is not None]
FINE: dict[str, Any] = {
    "register": {"agent_id": "db", "instance_id": "shop-db-1", "session": "s-1", "boot_id": "b-1"},
    "heartbeat": {"instance_id": "shop-db-1", "session": "s-1", "epoch": 0},
    "rebalance_notice": {"instance_id": "shop-db-1", "session": "s-1"},
    "termination_notice": {"instance_id": "shop-db-1", "session": "s-1"},
    "new_client": {"client_id": "new"},
    "new_agent": {"agent_id": "new"},
    "pause": {"for_s": 60, "why": "test"},
    "gone": {"why": "test"},
    "revive": {"why": "test"},
}


@pytest.fixture(scope="module")
def shop(server: Running) -> Tenant:
    return tenant(server, "shop", "db")


def token_for(server: Running, shop: Tenant, operation: Operation) -> str:
    from holdfast.failover.tenants import TokenKind

    match operation.caller:
        case ops.Caller.ADMIN:
            return server.token(TokenKind.ADMIN)
        case ops.Caller.OPERATOR:
            return shop.token
        case _:
            return shop.instances["db"].token


def send(server: Running, shop: Tenant, operation: Operation, raw: bytes) -> Answer:
    path = operation.path.format(
        agent_id="db", instance_id="shop-db-1", replica_id="shop-db-1", token_id="none"
    )
    return server.raw(operation.method, path, token=token_for(server, shop, operation), body=raw)


def check(operation: Operation, answer: Answer, *codes: str) -> None:
    assert answer.code in codes, (operation.name, answer)
    assert answer.code in {str(code) for code in refusals(operation)}, f"{operation.name}: {answer.code}"
    assert answer.error
    assert "Traceback" not in answer.error
    assert "sqlite" not in answer.error.lower()


@pytest.mark.parametrize("operation", BODIED, ids=lambda op: op.name)
@pytest.mark.parametrize(
    "raw",
    [b"{", b"[]", b'"text"', b"null", b"\xff\xfe", b'{"a": 1e999}', b"{" * 2_000, b'{"unknown_field": 1}'],
    ids=["cut", "list", "text", "null", "no-utf8", "infinite", "deep", "unknown"],
)
def test_bodies_that_make_no_sense_are_refused(
    server: Running, shop: Tenant, operation: Operation, raw: bytes
) -> None:
    check(operation, send(server, shop, operation, raw), "INVALID_REQUEST")


@pytest.mark.parametrize("operation", BODIED, ids=lambda op: op.name)
def test_an_unknown_field_is_named(server: Running, shop: Tenant, operation: Operation) -> None:
    body = {**FINE.get(operation.name, {}), "auto_swich": True}
    answer = send(server, shop, operation, json.dumps(body).encode())
    check(operation, answer, "INVALID_REQUEST")
    assert "auto_swich" in str(answer.error)


@pytest.mark.parametrize("operation", BODIED, ids=lambda op: op.name)
@pytest.mark.parametrize(
    "wrong", [None, [], {}, "text", -1, 1.5, True, "x" * 70, "a b", "ä", "\u0000", "a/b"]
)
def test_every_field_refuses_values_of_another_kind(
    server: Running, shop: Tenant, operation: Operation, wrong: Any
) -> None:
    """A value that happens to fit a field is let through; nothing else is."""
    fine = FINE.get(operation.name, {})
    for name in fine:
        body = {**fine, name: wrong}
        answer = send(server, shop, operation, json.dumps(body).encode())
        if answer.http_status != 200:
            assert answer.code in {str(code) for code in refusals(operation)}, (name, answer)
            assert "Traceback" not in str(answer.error)


@pytest.mark.parametrize("operation", BODIED, ids=lambda op: op.name)
def test_an_id_ends_where_its_line_ends(server: Running, shop: Tenant, operation: Operation) -> None:
    """Databases and file names disagree on what follows, so nothing may."""
    fine = FINE.get(operation.name, {})
    for name in (name for name in fine if name.endswith("_id") or name == "session"):
        body = {**fine, name: f"{fine[name]}\n"}
        check(operation, send(server, shop, operation, json.dumps(body).encode()), "INVALID_REQUEST")


def test_an_empty_request_id_is_no_id(server: Running, shop: Tenant) -> None:
    answer = server.raw(
        "POST", "/api/agents/db/resume", token=shop.token, body=b"{}", headers={"X-Request-ID": ""}
    )
    assert answer.code == "INVALID_REQUEST"
    assert "X-Request-ID" in str(answer.error)


@pytest.mark.parametrize("operation", BODIED, ids=lambda op: op.name)
def test_a_body_beyond_the_limit_is_refused_before_it_is_read_whole(
    server: Running, shop: Tenant, operation: Operation
) -> None:
    raw = json.dumps({"why": "x" * (operation.body_max + 1)}).encode()
    check(operation, send(server, shop, operation, raw), "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize(
    "path",
    [
        "/api/agents/a%20b",
        "/api/agents/" + "x" * 65,
        "/api/agents/%00",
        "/api/agents/..%2f..%2fetc",
        "/api/agents/db'%20OR%201=1",
        "/api/instances/%c3%a4",
        "/nowhere",
        "/api",
        "/api/agents/db/nowhere",
    ],
)
def test_paths_that_cannot_be_are_not_found(server: Running, shop: Tenant, path: str) -> None:
    answer = server.raw("GET", path, token=shop.token)
    assert (answer.http_status, answer.code) == (404, "NOT_FOUND")


def test_a_method_that_a_path_does_not_have_is_named(server: Running, shop: Tenant) -> None:
    answer = server.raw("DELETE", "/api/agents/db", token=shop.token)
    assert (answer.http_status, answer.code) == (405, "METHOD_NOT_ALLOWED")
    assert "GET" in str(answer.error)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("after=x", "after"),
        ("after=-1", "after"),
        ("limit=1e3", "limit"),
        ("mistake=1", "mistake"),
        ("limit=1_0", "limit"),
        ("limit=%D9%A3", "limit"),
        ("limit=%203", "limit"),
        ("limit=", "limit"),
    ],
)
def test_a_wrong_query_is_named(server: Running, shop: Tenant, query: str, names: str) -> None:
    answer = server.raw("GET", f"/api/agents/db/history?{query}", token=shop.token)
    assert answer.code == "INVALID_REQUEST"
    assert names in str(answer.error)


@pytest.mark.parametrize("text", ["0", "2.5", "1E+3", "5.960464477539063e-08", "-0.0"])
def test_a_number_is_read_as_json_writes_it(text: str) -> None:
    assert PLAIN.fullmatch(text)


@pytest.mark.parametrize("operation", [ops.NEW_TOKEN, ops.ENROL])
def test_no_token_is_made_that_opens_nothing(server: Running, shop: Tenant, operation: Operation) -> None:
    ids = {} if operation is ops.NEW_TOKEN else {"agent_id": "db"}
    answer = server.call(operation, shop.token, {"expires_in_s": 0}, **ids)
    assert answer.code == "INVALID_REQUEST"
    assert "expires_in_s" in str(answer.error)


def test_a_request_id_of_another_shape_is_refused(server: Running, shop: Tenant) -> None:
    answer = server.call(ops.RESUME, shop.token, {}, request_id="a b", agent_id="db")
    assert answer.code == "INVALID_REQUEST"
    assert "X-Request-ID" in str(answer.error)


def test_both_modes_at_once_are_refused_and_nothing_changes(server: Running, shop: Tenant) -> None:
    before = server.call(ops.AGENT, shop.token, agent_id="db").data["settings"]
    both = {"auto_switch_enabled": True, "manual_replica_enabled": True}
    answer = server.call(ops.SETTINGS, shop.token, both, agent_id="db")
    assert (answer.http_status, answer.code) == (422, "INVALID_CONFIGURATION")
    assert "mutually exclusive" in str(answer.error)
    assert server.call(ops.AGENT, shop.token, agent_id="db").data["settings"] == before
    assert server.call(ops.NEW_AGENT, shop.token, {"agent_id": "both", "settings": both}).code == answer.code
    assert server.call(ops.AGENT, shop.token, agent_id="both").code == "NOT_FOUND"


def test_a_group_that_is_there_is_not_made_twice(server: Running, shop: Tenant) -> None:
    answer = server.call(ops.NEW_AGENT, shop.token, {"agent_id": "db"})
    assert answer.code == "INVALID_STATE"


def test_a_stale_session_is_told_to_register_again(server: Running) -> None:
    owner = tenant(server, "copied", "db")
    mine = owner.instances["db"]
    body = {"instance_id": mine.instance_id, "session": "another"}
    beat = server.call(ops.HEARTBEAT, mine.token, {**body, "epoch": 0}, agent_id="db")
    notices = [
        server.call(each, mine.token, body, agent_id="db") for each in (ops.REBALANCE, ops.TERMINATION)
    ]
    assert [answer.code for answer in (beat, *notices)] == ["STALE_SESSION"] * 3
    kinds = [event["kind"] for event in server.call(ops.HISTORY, owner.token, agent_id="db").data]
    assert "noticed" not in kinds, "a copy of the machine does not speak of its end"


def test_a_switch_without_a_standby_says_why(server: Running, shop: Tenant) -> None:
    answer = server.call(ops.SWITCH, shop.token, {}, agent_id="db")
    assert answer.code in ("PROMOTION_FAILED", "INVALID_STATE")
    assert answer.error


def test_a_client_that_asks_too_often_is_told_how_long_to_wait(server: Running) -> None:
    slow = server.client("slow", requests_per_second_max=1)
    answers = [server.call(ops.AGENTS, slow) for _ in range(8)]
    limited = [answer for answer in answers if answer.code == "RATE_LIMITED"]
    assert limited
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in limited)


def test_a_head_that_does_not_end_is_cut_off_before_it_fills_the_memory(server: Running) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as line:
        line.sendall(b"GET /api/agents HTTP/1.1\r\nHost: x\r\nX-Long: ")
        sent = 0
        with suppress(OSError):
            while sent < 64 * HEAD_MAX:
                sent += line.send(b"a" * 8_192)
        with suppress(ConnectionResetError):
            assert line.recv(4_096).startswith(b"HTTP/1.1 400 ")
        assert sent < 64 * HEAD_MAX, "it hung up"


def test_a_long_body_is_no_long_head(server: Running, shop: Tenant) -> None:
    """One line carries heads and bodies of many requests; together they are longer than one head may be."""
    for _ in range(2 * HEAD_MAX // 16_000):
        raw = json.dumps({"why": "x" * 15_900}).encode()
        assert send(server, shop, ops.RESUME, raw).code == "INVALID_REQUEST"
    assert server.call(ops.AGENTS, shop.token).http_status == 200


@pytest.mark.parametrize(("method", "path"), [("GET", "/api/agents/db/"), ("DELETE", "/api/tokens/..%2f")])
def test_no_path_is_redirected_to_another(server: Running, shop: Tenant, method: str, path: str) -> None:
    assert server.raw(method, path, token=shop.token).code == "NOT_FOUND"


def test_a_history_of_none_is_none(server: Running, shop: Tenant) -> None:
    assert server.call(ops.HISTORY, shop.token, agent_id="db", limit=0).data == []


def test_a_number_beyond_all_numbers_is_told_what_to_be(server: Running, shop: Tenant) -> None:
    body = b'{"instance_id": "shop-db-1", "session": "s-1", "epoch": 0, "report": {"lag_s": 1e999}}'
    answer = send(server, shop, ops.HEARTBEAT, body)
    assert answer.error == "report.lag_s = Infinity: give a finite number"
