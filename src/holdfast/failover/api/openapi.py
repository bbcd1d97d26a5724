"""The OpenAPI document, made from the table of operations: it cannot disagree with what is served."""

import re
from typing import Any

import msgspec

from holdfast.failover.api import wire
from holdfast.failover.api.codes import Code
from holdfast.failover.api.operations import (
    CHANGING,
    COMMON,
    OPERATIONS,
    WITH_TOKEN,
    Caller,
    Operation,
    Query,
)

REF = "#/components/schemas/{name}"
ID = {"type": "string", "pattern": wire.ID_PATTERN}
NUMBER = {"minimum": 0, "exclusiveMaximum": wire.NUMBER_END}
TYPES = {str: ID, int: {"type": "integer", **NUMBER}, float: {"type": "number", **NUMBER}}


def document(version: str) -> dict[str, Any]:
    bodies = [operation.body for operation in OPERATIONS if operation.body is not None]
    _, schemas = msgspec.json.schema_components([*dict.fromkeys(bodies), wire.Envelope], ref_template=REF)
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Holdfast failover",
            "version": version,
            "description": "Keeps one primary alive per agent. Every answer has the same envelope.",
        },
        "paths": paths,
        "components": {
            "schemas": {name: _portable(schema) for name, schema in schemas.items()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _portable(schema: Any) -> Any:
    """Patterns as JSON Schema writes them."""
    match schema:
        case dict():
            found = {name: _portable(each) for name, each in schema.items()}
            if isinstance(pattern := found.get("pattern"), str):
                found["pattern"] = pattern.replace(wire.END, "$")
            return found
        case list():
            return [_portable(each) for each in schema]
    return schema


def refusals(operation: Operation) -> tuple[Code, ...]:
    """Every code that an operation may answer with."""
    return tuple(
        dict.fromkeys(
            (
                *COMMON,
                *(() if operation.caller is Caller.ANYONE else WITH_TOKEN),
                *(CHANGING if operation.changes else ()),
                *operation.codes,
            )
        )
    )


def _operation(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.what,
        "description": f"For {operation.caller.value}.",
        "parameters": [*_path_parameters(operation), *map(_query, operation.query)],
        "responses": {"200": _answer("Done."), **_refused(operation)},
    }
    if operation.secret:
        found["description"] += (
            " Its answer holds a secret, and is not stored: X-Request-ID makes no difference."
        )
    elif operation.changes:
        found["parameters"].append(
            {
                "name": "X-Request-ID",
                "in": "header",
                "required": False,
                "schema": ID,
                "description": "The same request with the same id is done once.",
            }
        )
    if operation.caller is not Caller.ANYONE:
        found["security"] = [{"token": []}]
    if operation.body is not None:
        schema = {"$ref": REF.format(name=operation.body.__name__)}
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return found


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": ID,
        }
        for name in re.findall(r"{(\w+)}", operation.path)
    ]


def _query(query: Query) -> dict[str, Any]:
    return {
        "name": query.name,
        "in": "query",
        "required": query.default is None,
        "schema": TYPES[query.type],
        "description": query.what,
    }


def _refused(operation: Operation) -> dict[str, Any]:
    by_status: dict[str, list[Code]] = {}
    for code in refusals(operation):
        by_status.setdefault(str(code.http_status), []).append(code)
    return {
        status: _answer(" ".join(f"`{code}`: {code.says}" for code in codes))
        for status, codes in by_status.items()
    }


def _answer(what: str) -> dict[str, Any]:
    schema = {"$ref": REF.format(name="Envelope")}
    return {"description": what, "content": {"application/json": {"schema": schema}}}
