"""Both DynamoDBs, one after the other, clients that count what is called, and calls that are not granted."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import ClientError

from holdfast.adapters.aws import client as aws
from holdfast.adapters.aws.dynamodb.client import make_client
from tests.real.presence import present
from tools.parts.catalog.extenddb import PART as EXTENDDB
from tools.parts.catalog.ministack import PART as MINISTACK

NAMES = ("ministack", "extenddb")


@contextmanager
def running(name: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Its endpoint, and the keys that it lets in."""
    if name == "ministack":
        ministack = present(MINISTACK).start()
        try:
            yield ministack.endpoint, {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"}
        finally:
            ministack.stop()
        return
    extenddb = present(EXTENDDB).start()
    try:
        yield (
            extenddb.endpoint,
            {"AWS_ACCESS_KEY_ID": extenddb.access_key, "AWS_SECRET_ACCESS_KEY": extenddb.secret_key},
        )
    finally:
        extenddb.stop()


def sign_in(monkeypatch: pytest.MonkeyPatch, environ: Mapping[str, str]) -> None:
    """A process reads its credentials once; this one plays several."""
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    aws._session.cache_clear()


def counting_client(calls: Counter[str]) -> Any:
    """The shipped client of the environment's DynamoDB; each call that leaves it is counted."""
    client: Any = make_client(region="us-east-1", read_timeout_s=60)

    def count(model: Any, **_: Any) -> None:
        calls[model.name] += 1

    client.meta.events.register("before-call.dynamodb", count)
    return client


@contextmanager
def denied(action: str, resource: str) -> Iterator[None]:
    """Refuse this call of this process as IAM does: the stand-ins check no rights."""
    operation = action.partition(":")[2]
    told: Any = {
        "Error": {"Code": "AccessDeniedException", "Message": f"not authorized to perform: {action}"},
        "ResponseMetadata": {"HTTPStatusCode": 400},
    }

    def refuse(params: Any, model: Any, **_: Any) -> None:
        inside = [
            (f"{kind}Item", asked) for item in params.get("TransactItems", []) for kind, asked in item.items()
        ]
        for name, asked in inside or [(model.name, params)]:
            if name == operation and resource in (asked.get("TableName"), asked.get("StreamName")):
                raise ClientError(told, model.name)

    session: Any = aws._session()
    session.register("before-parameter-build", refuse)
    try:
        yield
    finally:
        session.unregister("before-parameter-build", refuse)


def rows(client: Any, table: str) -> dict[str, dict[str, Any]]:
    """A table by its key, numbers as numbers."""
    found: dict[str, dict[str, Any]] = {}
    for page in client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
        for item in page["Items"]:
            plain = {name: _plain(value) for name, value in item.items()}
            found[str(plain.pop("worker_id"))] = plain
    return found


def _plain(value: dict[str, Any]) -> Any:
    ((kind, content),) = value.items()
    return int(content) if kind == "N" else content
