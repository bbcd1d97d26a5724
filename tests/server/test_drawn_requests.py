"""Requests that Schemathesis draws from our own OpenAPI document: what fits it, and what does not.

Whatever is sent, the server answers with a documented status, type and shape, never with an error of its
own.  What does not fit is refused.  Half of the requests that fit name what is there, so that they get
past the first look; the others name what is not.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import hypothesis
import pytest
import requests
import schemathesis
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    positive_data_acceptance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from holdfast.failover.api.openapi import document
from holdfast.failover.api.operations import OPERATIONS, Caller, Operation
from holdfast.failover.tenants import TokenKind
from tests.deep import DEEP
from tests.server.running import Running
from tests.server.tenancy import Tenant, tenant

SCHEMA = schemathesis.openapi.from_dict(document("test"))
SCHEMA.config.generation.with_security_parameters = False
ACCEPTED = SCHEMA.config.checks.positive_data_acceptance
ACCEPTED.expected_statuses = [*ACCEPTED.expected_statuses, "422"]
"""Beside what a schema can say: settings that exclude each other, and an id that was used before."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    positive_data_acceptance,
    negative_data_rejection,
]
FEW, MANY = 10, 150
NEGATABLE = [op for op in OPERATIONS if op.body is not None or op.query or "{" in op.path]
CASES = [
    *((operation, GenerationMode.POSITIVE) for operation in OPERATIONS),
    *((operation, GenerationMode.NEGATIVE) for operation in NEGATABLE),
]
WAIT_S = 0.01
"""No drawn request waits longer for a goal."""


@dataclass
class World:
    server: Running
    shop: Tenant
    admin: str
    session: requests.Session

    def token(self, operation: Operation) -> str:
        match operation.caller:
            case Caller.ADMIN:
                return self.admin
            case Caller.OPERATOR:
                return self.shop.token
            case _:
                return self.shop.instances["db"].token

    @property
    def names(self) -> Mapping[str, str]:
        """What is there, by the field that names it."""
        mine = self.shop.instances["db"]
        return {
            "agent_id": mine.agent_id,
            "instance_id": mine.instance_id,
            "replica_id": mine.instance_id,
            "session": mine.session,
            "to": mine.instance_id,
            "primary": mine.instance_id,
        }


@pytest.fixture(scope="module")
def world(server: Running) -> Iterator[World]:
    with requests.Session() as session:
        yield World(server, tenant(server, "shop", "db"), server.token(TokenKind.ADMIN), session)


def named(world: World, values: Any) -> None:
    if isinstance(values, dict):
        values.update({name: value for name, value in world.names.items() if name in values})


def whole(value: Any) -> Any:
    """For JSON Schema 3.0 is an integer; it is spelled 3 on the wire."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {name: whole(each) for name, each in value.items()}
        case list():
            return [whole(each) for each in value]
    return value


def hurried(case: Case[Any]) -> None:
    with suppress(KeyError, TypeError, ValueError):
        case.query["wait"] = min(float(case.query["wait"]), WAIT_S)


def hold(world: World, operation: Operation, mode: GenerationMode, count: int) -> int:
    """How many were sent; a failure is raised."""
    sent = 0
    drawn = SCHEMA[operation.path][operation.method].as_strategy(generation_mode=mode)

    @hypothesis.settings(
        derandomize=True,
        max_examples=count,
        database=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=drawn, known=st.booleans())
    def answered(case: Case[Any], known: bool) -> None:
        nonlocal sent
        if known and mode is GenerationMode.POSITIVE:
            for values in (case.path_parameters, case.query, case.body):
                named(world, values)
        if mode is GenerationMode.POSITIVE:
            case.body = whole(case.body)
        sent += 1
        hurried(case)
        case.call_and_validate(
            base_url=world.server.url,
            session=world.session,
            headers={"Authorization": f"Bearer {world.token(operation)}"},
            checks=CHECKS,
        )

    answered()
    return sent


def told(value: Any) -> str:
    return str(value.name if isinstance(value, Operation) else value.value)


each_operation = pytest.mark.parametrize(("operation", "mode"), CASES, ids=told)


@each_operation
def test_every_request_is_answered_as_documented(
    world: World, operation: Operation, mode: GenerationMode
) -> None:
    assert hold(world, operation, mode, FEW)


@DEEP
@each_operation
def test_many_requests_are_answered_as_documented(
    world: World, operation: Operation, mode: GenerationMode
) -> None:
    assert hold(world, operation, mode, MANY)


@hypothesis.settings(derandomize=True, max_examples=60, database=None)
@hypothesis.given(
    header=st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"))
)
def test_no_drawn_authorization_opens_anything(world: World, header: str) -> None:
    for value in (header, f"Bearer {header}", f"Bearer hfo_{header}"):
        sent = {"Authorization": value.encode("latin-1").strip()}
        answer = world.session.get(f"{world.server.url}/api/agents", headers=sent)
        assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHENTICATED")
