"""Clients, their tokens, and enrolments."""

from dataclasses import asdict
from typing import Any

from holdfast.failover.api.codes import Code, Refusal
from holdfast.failover.tenants import Client, Token, TokenKind
from holdfast.server.calls import Call
from holdfast.server.desk.context import Context, group_of
from holdfast.server.tokens import issue

FIRST_TOKEN_S = 365 * 86_400.0


def clients(context: Context, call: Call) -> object:
    return [asdict(client) for client in context.tenants.clients()]


def new_client(context: Context, call: Call) -> object:
    """The operator's token is shown this once."""
    body, now_s = call.body, context.now_s()
    client = Client(
        client_id=body.client_id,
        name=body.name,
        launches_per_hour_max=body.launches_per_hour_max,
        requests_per_second_max=body.requests_per_second_max,
        created_s=now_s,
    )
    secret, token = issue(
        TokenKind.OPERATOR, now_s=now_s, expires_in_s=FIRST_TOKEN_S, client_id=client.client_id
    )
    if not context.tenants.add_client(client, token):
        raise Refusal(Code.INVALID_STATE, f"client_id = {client.client_id!r} is taken: choose another")
    return {**asdict(client), "token": secret, **_shown(token)}


def tokens(context: Context, call: Call) -> object:
    return [_shown(token) for token in context.tenants.tokens(call.client_id)]


def new_token(context: Context, call: Call) -> object:
    secret, token = issue(
        TokenKind.OPERATOR,
        now_s=context.now_s(),
        expires_in_s=call.body.expires_in_s,
        client_id=call.client_id,
    )
    context.tenants.add_token(token)
    return {**_shown(token), "token": secret}


def end_token(context: Context, call: Call) -> object:
    token_id = call.path["token_id"]
    if not context.tenants.end_token(call.client_id, token_id):
        raise Refusal(Code.NOT_FOUND, f"there is no token {token_id!r}")
    context.tokens.forget(token_id)
    return {"token_id": token_id, "ended": True}


def enrol(context: Context, call: Call) -> object:
    """A one-time token for a group that is there."""
    group = group_of(context, call).value
    secret, token = issue(
        TokenKind.ENROLMENT,
        now_s=context.now_s(),
        expires_in_s=call.body.expires_in_s,
        client_id=call.client_id,
        agent_id=group.agent_id,
        instance_id=call.body.instance_id or "",
    )
    context.tenants.add_token(token)
    return {**_shown(token), "token": secret}


def _shown(token: Token) -> dict[str, Any]:
    """Everything but what opens a door."""
    return {
        "token_id": token.token_id,
        "kind": token.kind,
        "agent_id": token.agent_id,
        "instance_id": token.instance_id,
        "created_s": token.created_s,
        "expires_s": token.expires_s,
    }
