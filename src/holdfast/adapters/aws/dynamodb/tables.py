"""Tables are created when they are missing; losing that race is success."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.adapters.aws.dynamodb.errors import translate_errors
from holdfast.kernel import Busy, Invalid

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

ACTIVE_TIMEOUT_S = 120.0
LOOK_AGAIN_S, LOOK_AGAIN_MAX_S = 0.4, 4.0
READY = ("ACTIVE", "UPDATING")


@dataclass(frozen=True, slots=True)
class TableSpec:
    name: str
    keys: tuple[str, ...]
    """The partition key, then a sort key if any."""
    expiry: str = ""
    """The attribute by which DynamoDB drops old items; empty: it drops none."""


def ensure_table(client: "DynamoDBClient", table: str, *keys: str, expiry: str = "") -> None:
    """Return once the table can be used.  Twice is once: see `ensure_tables`."""
    ensure_tables(client, TableSpec(table, keys, expiry))


def ensure_tables(client: "DynamoDBClient", *specs: TableSpec, again: bool = False) -> None:
    """Return once all of them can be used; those that are missing are made side by side.

    `again`: an earlier try of this process failed, and may have made a table that has no expiry yet.
    Twice is once.  Created only when it certainly does not exist: a throttled look is
    not a missing table.  Raises Invalid for a table with another key, which stays as it is.
    """
    found = {spec: _found_or_made(client, spec) for spec in specs}
    for spec, (described, fresh) in found.items():
        with translate_errors(f"create table {spec.name}"):
            ready = described if described and _is_ready(described) else _when_ready(client, spec.name)
            _check_keys(spec.name, ready, spec.keys)
            if spec.expiry and (again or fresh):
                _expire(client, spec.name, spec.expiry)


def _found_or_made(client: "DynamoDBClient", spec: TableSpec) -> tuple[Any, bool]:
    """What it is like, if that is known; and whether it was made just now, or is still being made."""
    with translate_errors(f"create table {spec.name}"):
        described = _describe(client, spec.name)
        if described is not None:
            return described, not _is_ready(described)
        return _create(client, spec.name, spec.keys), True


def _is_ready(described: Any) -> bool:
    return described["TableStatus"] in READY


def _when_ready(client: "DynamoDBClient", table: str) -> Any:
    """It was being made a moment ago.  Many may wait for it at once, so each looks less and less often."""
    deadline_s, wait_s = time.monotonic() + ACTIVE_TIMEOUT_S, LOOK_AGAIN_S
    while True:
        time.sleep(wait_s)
        wait_s = min(2 * wait_s, LOOK_AGAIN_MAX_S)
        found = _describe(client, table)
        if found is not None and _is_ready(found):
            return found
        if time.monotonic() > deadline_s:
            raise Busy(f"table {table} is not ACTIVE after {ACTIVE_TIMEOUT_S:.0f} s")


def key_names(described: Any) -> tuple[str, ...]:
    """The partition key, then the sort key if there is one."""
    keys = sorted(described["KeySchema"], key=lambda each: each["KeyType"])
    return tuple(each["AttributeName"] for each in keys)


def _check_keys(table: str, described: Any, keys: tuple[str, ...]) -> None:
    found = key_names(described)
    if found != keys:
        raise Invalid(
            f"table {table} has the key {' and '.join(found)}, not {' and '.join(keys)}: it is another's; "
            "name another table in the settings"
        )


def _create(client: "DynamoDBClient", table: str, keys: tuple[str, ...]) -> Any:
    """What it is like now; None if another was faster."""
    from botocore.exceptions import ClientError

    try:
        return client.create_table(
            TableName=table,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
            KeySchema=[
                {"AttributeName": key, "KeyType": "RANGE" if n else "HASH"} for n, key in enumerate(keys)
            ],
        )["TableDescription"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceInUseException":
            raise
        return None


def _describe(client: "DynamoDBClient", table: str) -> Any:
    """What it is like, None if it does not exist."""
    try:
        return client.describe_table(TableName=table)["Table"]
    except client.exceptions.ResourceNotFoundException:
        return None


def _expire(client: "DynamoDBClient", table: str, attribute: str) -> None:
    from botocore.exceptions import ClientError

    described = client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    if described.get("TimeToLiveStatus", "DISABLED") in ("DISABLED", "DISABLING"):
        try:
            client.update_time_to_live(
                TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": attribute}
            )
        except ClientError as error:
            # Two processes that make the table at once both ask for it, and one is told that it is so.
            if "already enabled" not in str(error).lower():
                raise
