"""What a table is like, and what we may do to it, by writes whose condition can never hold.

Nothing is changed.  Raises Denied, another Invalid, Busy or Unknown.
"""

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from holdfast.adapters.aws.dynamodb.errors import cancellation_error, failed_condition, translate_errors
from holdfast.adapters.aws.dynamodb.tables import key_names

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

NEVER: Final = "attribute_exists(pk) AND attribute_not_exists(pk)"
"""A condition that no item fulfils: what is guarded by it is judged by IAM, and never done."""


@dataclass(frozen=True, slots=True)
class Table:
    keys: tuple[str, ...]
    """The partition key, then the sort key if there is one."""
    status: str

    @property
    def is_ready(self) -> bool:
        return self.status in ("ACTIVE", "UPDATING")


def describe(client: "DynamoDBClient", table: str) -> Table:
    with translate_errors(f"describe {table}"):
        found: Any = client.describe_table(TableName=table)["Table"]
    return Table(key_names(found), str(found["TableStatus"]))


def expiring_attribute(client: "DynamoDBClient", table: str) -> str:
    """The attribute by which DynamoDB drops old items; empty if it drops none."""
    with translate_errors(f"describe {table}"):
        found: Any = client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    enabled = found.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    return str(found.get("AttributeName", "")) if enabled else ""


def try_update(client: "DynamoDBClient", table: str, pk: str) -> None:
    update = {
        "TableName": table,
        "Key": {"pk": {"S": pk}},
        "UpdateExpression": "SET version = version",
        "ConditionExpression": NEVER,
    }
    _never_done(client, f"write {table}", {"Update": update})


def try_put(client: "DynamoDBClient", table: str) -> None:
    put = {"TableName": table, "Item": _absent(), "ConditionExpression": NEVER}
    _never_done(client, f"write {table}", {"Put": put})


def try_delete(client: "DynamoDBClient", table: str) -> None:
    """Deletes a row that is not there."""
    request: Any = {"DeleteRequest": {"Key": _absent()}}
    with translate_errors(f"delete from {table}"):
        client.batch_write_item(RequestItems={table: [request]})


def _absent() -> dict[str, Any]:
    return {"pk": {"S": "doctor"}, "sk": {"S": uuid.uuid4().hex}}


def _never_done(client: "DynamoDBClient", what: str, request: Any) -> None:
    with translate_errors(what):
        try:
            client.transact_write_items(TransactItems=[request])
        except client.exceptions.TransactionCanceledException as error:
            reasons: list[Any] = error.response.get("CancellationReasons", [])
            if failed_condition(reasons) is None:
                raise cancellation_error(what, reasons) from error
