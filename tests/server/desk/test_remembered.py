"""What a server remembers of tokens: for a few seconds, never beyond their end, and never an enrolment."""

from functools import partial
from typing import cast

import pytest

from holdfast.failover.api.codes import Refusal
from holdfast.failover.tenants import Client, Tenants, Token, TokenKind
from holdfast.server.tokens import REMEMBERED_S, Tokens, issue


class Table:
    """Counts what is asked of it."""

    def __init__(self) -> None:
        self.tokens: dict[str, Token] = {}
        self.asked = 0

    def token(self, digest: str) -> Token | None:
        self.asked += 1
        return self.tokens.get(digest)

    def client(self, client_id: str) -> Client:
        return Client(client_id=client_id)


class Desk:
    def __init__(self, kind: TokenKind = TokenKind.OPERATOR, expires_in_s: float = 60.0) -> None:
        self.now_s, self.table = 100.0, Table()
        secret, self.token = issue(kind, now_s=self.now_s, expires_in_s=expires_in_s, client_id="shop")
        self.header = f"Bearer {secret}"
        self.table.tokens[self.token.digest] = self.token
        clock = partial(getattr, self, "now_s")
        self.tokens = Tokens(cast("Tenants", self.table), clock, clock)
        self.tokens.find(self.header)


def test_a_token_is_looked_up_again_after_a_few_seconds() -> None:
    desk = Desk()
    assert desk.tokens.remembered(desk.header) is not None
    desk.now_s += REMEMBERED_S
    assert desk.tokens.remembered(desk.header) is None, "another server may have ended it"
    assert desk.tokens.expected(desk.header), "its caller is no stranger all the same"


def test_what_is_remembered_does_not_outlive_its_own_end() -> None:
    desk = Desk(expires_in_s=2.0)
    assert desk.tokens.remembered(desk.header) is not None
    desk.now_s += 2.0
    assert desk.tokens.remembered(desk.header) is None
    with pytest.raises(Refusal):
        desk.tokens.find(desk.header)
    assert not desk.tokens.expected(desk.header)


def test_an_enrolment_is_looked_up_each_time() -> None:
    desk = Desk(TokenKind.ENROLMENT)
    assert desk.tokens.remembered(desk.header) is None, "it opens a door once"
    desk.table.tokens.clear()
    with pytest.raises(Refusal):
        desk.tokens.find(desk.header)


def test_a_token_that_was_ended_here_is_forgotten_at_once() -> None:
    desk = Desk()
    desk.tokens.forget(desk.token.token_id)
    assert desk.tokens.remembered(desk.header) is None


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer  ", "Basic abc", "abc"])
def test_no_other_header_is_looked_up(header: str) -> None:
    desk = Desk()
    for ask in (desk.tokens.find, desk.tokens.remembered, desk.tokens.expected):
        with pytest.raises(Refusal):
            ask(header)
    assert desk.table.asked == 1
