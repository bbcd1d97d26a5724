"""Tables are created when they are missing; losing that race is success."""

import time
from typing import TYPE_CHECKING

from holdfast.adapters.aws.dynamodb.errors import translate_errors
from holdfast.kernel import Busy

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

ACTIVE_TIMEOUT_S = 120.0


def ensure_table(client: "DynamoDBClient", table: str, *keys: str, expiry: str | None = None) -> None:
    """Return once the table is ACTIVE.  `keys`: the partition key, then a sort key if any.

    Twice is once.  Created only when it certainly does not exist: a throttled look is
    not a missing table.
    """
    from botocore.exceptions import ClientError

    with translate_errors(f"create table {table}"):
        if _status(client, table) is None:
            try:
                client.create_table(
                    TableName=table,
                    BillingMode="PAY_PER_REQUEST",
                    AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
                    KeySchema=[
                        {"AttributeName": key, "KeyType": "RANGE" if n else "HASH"}
                        for n, key in enumerate(keys)
                    ],
                )
            except ClientError as error:
                if error.response["Error"]["Code"] != "ResourceInUseException":
                    raise
        deadline_s = time.monotonic() + ACTIVE_TIMEOUT_S
        while _status(client, table) != "ACTIVE":
            if time.monotonic() > deadline_s:
                raise Busy(f"table {table} is not ACTIVE after {ACTIVE_TIMEOUT_S:.0f} s")
            time.sleep(0.2)
        if expiry:
            _expire(client, table, expiry)


def _status(client: "DynamoDBClient", table: str) -> str | None:
    """Its status, None if it does not exist."""
    try:
        return client.describe_table(TableName=table)["Table"]["TableStatus"]
    except client.exceptions.ResourceNotFoundException:
        return None


def _expire(client: "DynamoDBClient", table: str, attribute: str) -> None:
    described = client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    if described.get("TimeToLiveStatus", "DISABLED") in ("DISABLED", "DISABLING"):
        client.update_time_to_live(
            TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": attribute}
        )
