"""One request, decoded and checked: its path, its query, its body."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.requests import Request

from holdfast.failover.api import wire
from holdfast.failover.api.codes import Code, Refusal
from holdfast.failover.api.operations import Operation, Query
from holdfast.failover.group import ID, ID_SHAPE
from holdfast.server.bodies import decoded
from holdfast.server.tokens import Principal

PLAIN: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
"""As JSON writes them.  Python also takes `1_0`, blanks, and the digits of every script for a number."""


@dataclass(frozen=True, slots=True)
class Call:
    operation: Operation
    principal: Principal
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    """Of the operation's type."""
    raw: bytes = b""
    """The body as it came: what a repeated request is recognised by."""
    request_id: str = ""

    @property
    def client_id(self) -> str:
        return self.principal.client_id


async def decode(operation: Operation, request: Request, principal: Principal) -> Call:
    """Raises Refusal for whatever is wrong, naming the field, the value and the fix."""
    return Call(
        operation,
        principal,
        path=_ids(request.path_params),
        query=_query(operation, request.query_params),
        raw=(raw := await _body(operation, request)),
        body=decoded(operation, raw),
        request_id=_request_id(request),
    )


def _ids(path: Mapping[str, Any]) -> dict[str, str]:
    for name, value in path.items():
        if not ID.fullmatch(value):
            # An id that no client can have: it does not exist, whatever its shape.
            raise Refusal(Code.NOT_FOUND, f"there is no {name.removesuffix('_id')} {value[:80]!r}")
    return dict(path)


def _query(operation: Operation, given: Mapping[str, str]) -> dict[str, Any]:
    known = {query.name: query for query in operation.query}
    for name in given:
        if name not in known:
            takes = ", ".join(known) or "none"
            raise _invalid(f"query parameter {name[:80]!r} is unknown; this operation takes: {takes}")
    return {query.name: _parsed(query, given.get(query.name)) for query in operation.query}


def _parsed(query: Query, value: str | None) -> Any:
    if value is None:
        if query.default is None:
            raise _invalid(f"query parameter {query.name!r} is missing: give {query.what}")
        return query.default
    wrong = f"query parameter {query.name} = {value[:80]!r}: give "
    if query.type is str:
        if not ID.fullmatch(value):
            raise _invalid(wrong + ID_SHAPE)
        return value
    try:
        parsed = query.type(value) if PLAIN.fullmatch(value) else None
    except ValueError:
        parsed = None
    if parsed is None or not 0 <= parsed < wire.NUMBER_END:
        raise _invalid(f"{wrong}a number of at least 0")
    return parsed


async def _body(operation: Operation, request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > operation.body_max:
            raise Refusal(
                Code.PAYLOAD_TOO_LARGE, f"the body has more than {operation.body_max} bytes: send less"
            )
    return bytes(body)


def _request_id(request: Request) -> str:
    """Empty if none is given; an empty one is no id, and its sender believes that it has sent one."""
    given = request.headers.get("x-request-id")
    if given is None:
        return ""
    if not ID.fullmatch(given):
        raise _invalid(f"X-Request-ID = {given[:80]!r}: give {ID_SHAPE}, or leave it out")
    return given


def _invalid(message: str) -> Refusal:
    return Refusal(Code.INVALID_REQUEST, message)
