"""A client that asks too often is sent away, and only that one.

Forged tokens cost a bounded number of look-ups, and keep no caller away whose token is good.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.failover.api.codes import Code, Refusal
from holdfast.failover.api.operations import AGENT, HEARTBEAT
from holdfast.failover.tenants import Token
from holdfast.server.rates import ADDRESSES_MAX, BURST_S, STRANGERS_PER_SECOND, Rates, Strangers
from tests.server.running import Answer, Running, running
from tests.server.tenancy import Enrolled, Tenant, enrolled, tenant

AT_ONCE = int(STRANGERS_PER_SECOND * BURST_S)


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def spend(rates: Rates, client_id: str, per_second: int) -> int:
    """How many requests are let through at this moment."""
    for count in range(100_000):
        refusal = refused(rates, client_id, per_second)
        if refusal is not None:
            assert refusal.code is Code.RATE_LIMITED
            assert (refusal.retry_after_s or 0) >= 1
            return count
    raise AssertionError("no limit")


def refused(rates: Rates, client_id: str, per_second: int) -> Refusal | None:
    try:
        rates.take(client_id, per_second)
    except Refusal as refusal:
        return refusal
    return None


def test_a_burst_is_let_through_and_then_the_rate() -> None:
    clock = Clock()
    rates = Rates(clock)
    assert spend(rates, "shop", 10) == 10 * BURST_S
    clock.now_s += 1
    assert spend(rates, "shop", 10) == 10


def test_one_client_does_not_spend_what_another_has() -> None:
    rates = Rates(Clock())
    spend(rates, "shop", 10)
    rates.take("bank", 10)


def test_a_client_without_a_limit_is_never_sent_away() -> None:
    rates = Rates(Clock())
    assert not any(refused(rates, "shop", 0) for _ in range(10_000))


def test_a_long_silence_saves_up_no_more_than_a_burst() -> None:
    clock = Clock()
    rates = Rates(clock)
    rates.take("shop", 10)
    clock.now_s += 3_600
    assert spend(rates, "shop", 10) == 10 * BURST_S


def admitted(strangers: Strangers, address: str) -> int:
    """How many unknown tokens are looked up for this address at this moment."""
    for count in range(AT_ONCE * 2):
        refusal = turned_away(strangers, address)
        if refusal is not None:
            assert refusal.code is Code.RATE_LIMITED
            assert (refusal.retry_after_s or 0) >= 1
            return count
    raise AssertionError("no limit")


def turned_away(strangers: Strangers, address: str) -> Refusal | None:
    try:
        strangers.take(address)
    except Refusal as refusal:
        return refusal
    return None


def test_an_address_spends_its_own_budget_and_it_fills_again() -> None:
    clock = Clock()
    strangers = Strangers(clock)
    assert admitted(strangers, "192.0.2.1") == AT_ONCE
    assert admitted(strangers, "192.0.2.2") == AT_ONCE
    clock.now_s += 1
    assert admitted(strangers, "192.0.2.1") == STRANGERS_PER_SECOND


def test_what_proved_good_is_given_back() -> None:
    strangers = Strangers(Clock())
    for _ in range(AT_ONCE * 3):
        strangers.give_back(strangers.take("192.0.2.1"))
    assert admitted(strangers, "192.0.2.1") == AT_ONCE


def test_a_network_of_one_caller_is_one_address() -> None:
    strangers = Strangers(Clock())
    assert admitted(strangers, "2001:db8::1") == AT_ONCE
    assert admitted(strangers, "2001:db8::ffff:2%eth0") == 0
    assert admitted(strangers, "2001:db8:0:1::1") == AT_ONCE


def test_so_many_addresses_are_kept_and_no_more() -> None:
    clock = Clock()
    strangers = Strangers(clock)
    for n in range(ADDRESSES_MAX):
        strangers.take(f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}")
    assert admitted(strangers, "192.0.2.1") == AT_ONCE
    assert admitted(strangers, "192.0.2.2") == 0, "all new ones share what is left"
    clock.now_s += BURST_S
    assert admitted(strangers, "192.0.2.2") == AT_ONCE, "full buckets made room"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path) as found:
        yield found


def beat(server: Running, who: Enrolled) -> Answer:
    body = {"instance_id": who.instance_id, "session": who.session, "epoch": 0}
    return server.call(HEARTBEAT, who.token, body, agent_id=who.agent_id)


def flood(server: Running) -> tuple[int, Answer]:
    """Within one moment of its clock: how often the server looked one up, and its last answer."""
    moment_s = time.monotonic() + BURST_S
    server.server.strangers._buckets._monotonic_s = lambda: moment_s
    looked_up, real = [], server.server.tokens._tenants.token

    def counted(digest: str) -> Token | None:
        looked_up.append(digest)
        return real(digest)

    server.server.tokens._tenants.token = counted  # type: ignore[method-assign]
    try:
        answers = [server.call(AGENT, f"hfi_forged-{n}", agent_id="db") for n in range(AT_ONCE * 3)]
    finally:
        server.server.tokens._tenants.token = real  # type: ignore[method-assign]
    return len(looked_up), answers[-1]


def test_a_flood_of_forged_tokens_is_looked_up_no_more_and_no_good_token_suffers(server: Running) -> None:
    shop: Tenant = tenant(server, "shop", "db")
    late = enrolled(server, shop, "db", "late")
    beat(server, late)
    server.server.tokens._known.clear()  # as after a restart, which reads the tokens of all agents first
    server.server._learn_s = float("-inf")
    server.server._survey()
    operator = server.call(AGENT, shop.token, agent_id="db")
    assert operator.http_status == 200

    looked_up, last = flood(server)
    assert looked_up == AT_ONCE
    assert (last.http_status, last.code) == (429, "RATE_LIMITED")
    assert int(last.headers["retry-after"]) >= 1
    assert beat(server, late).http_status == 200, "an agent that this server has not heard since it started"
    assert server.call(AGENT, shop.token, agent_id="db").http_status == 200


def test_a_token_that_was_ended_is_a_stranger_s(server: Running) -> None:
    shop: Tenant = tenant(server, "shop", "db")
    tokens = server.server.tokens
    assert server.call(AGENT, shop.token, agent_id="db").http_status == 200
    assert tokens.expected(f"Bearer {shop.token}")
    token_id = server.raw("GET", "/api/tokens", token=shop.token).data[0]["token_id"]
    assert server.raw("DELETE", f"/api/tokens/{token_id}", token=shop.token).http_status == 200
    assert server.call(AGENT, shop.token, agent_id="db").http_status == 401
    assert not tokens.expected(f"Bearer {shop.token}")
