"""One record and its event rows in a table, and sixteen clients that reach for it at once."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

RACERS = 16
RECORD = {"pk": {"S": "cluster"}, "sk": {"S": "record"}}
DONE = "done"


@dataclass(frozen=True)
class Table:
    client: Any
    name: str

    def begin(self) -> None:
        """Store the record at version 0."""
        self.client.put_item(TableName=self.name, Item={**RECORD, "version": {"N": "0"}})

    def record(self) -> dict[str, Any]:
        found = self.client.get_item(TableName=self.name, Key=RECORD, ConsistentRead=True)
        item: dict[str, Any] = found["Item"]
        return item

    def events(self) -> list[dict[str, Any]]:
        """The event rows, oldest first."""
        found = self.client.query(
            TableName=self.name,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": "event"}},
            ConsistentRead=True,
        )
        items: list[dict[str, Any]] = found["Items"]
        return items

    def update(self, expected: int, owner: str) -> None:
        """One conditional write: the next version, if it is still the expected one."""
        self.client.update_item(
            TableName=self.name,
            Key=RECORD,
            UpdateExpression="SET version = :next, #owner = :owner",
            ConditionExpression="version = :expected",
            ExpressionAttributeNames={"#owner": "owner"},
            ExpressionAttributeValues=_versions(expected, owner),
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )

    def overwrite(self, version: int, owner: str) -> None:
        """A write without any condition, which the product never makes."""
        item = {**RECORD, "version": {"N": str(version)}, "owner": {"S": owner}}
        self.client.put_item(TableName=self.name, Item=item)

    def create(self, owner: str) -> None:
        """One conditional write: the record, if there is none."""
        self.client.put_item(
            TableName=self.name,
            Item={**RECORD, "version": {"N": "1"}, "owner": {"S": owner}},
            ConditionExpression="attribute_not_exists(pk)",
        )

    def commit(self, expected: int, owner: str, token: str) -> None:
        """Record and event row in one transaction, guarded by the record's version."""
        update = {
            "TableName": self.name,
            "Key": RECORD,
            "UpdateExpression": "SET version = :next, #owner = :owner ADD written :one",
            "ConditionExpression": "version = :expected",
            "ExpressionAttributeNames": {"#owner": "owner"},
            "ExpressionAttributeValues": {**_versions(expected, owner), ":one": {"N": "1"}},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        event = {"pk": {"S": "event"}, "sk": {"S": f"{expected + 1:012d}"}, "owner": {"S": owner}}
        put = {"TableName": self.name, "Item": event, "ConditionExpression": "attribute_not_exists(pk)"}
        self.client.transact_write_items(
            TransactItems=[{"Update": update}, {"Put": put}], ClientRequestToken=token
        )


def _versions(expected: int, owner: str) -> dict[str, Any]:
    return {":expected": {"N": str(expected)}, ":next": {"N": str(expected + 1)}, ":owner": {"S": owner}}


def outcome_of(call: Callable[[], None]) -> str:
    """`done`, or what the error says; of a cancelled transaction, why its items were refused."""
    try:
        call()
    except ClientError as error:
        response: Any = error.response
        reasons = {reason["Code"] for reason in response.get("CancellationReasons", [])} - {"None"}
        return "+".join(sorted(reasons)) or str(response["Error"]["Code"])
    return DONE


def race(hand: Callable[[str], None]) -> dict[str, str]:
    """All racers call at once, each under its own name; what became of each."""
    names = [f"racer-{n}" for n in range(RACERS)]
    line = threading.Barrier(RACERS)

    def run(name: str) -> str:
        line.wait(300)
        return outcome_of(lambda: hand(name))

    with ThreadPoolExecutor(RACERS) as pool:
        return dict(zip(names, pool.map(run, names), strict=True))


def winners(outcomes: dict[str, str]) -> list[str]:
    return [name for name, outcome in outcomes.items() if outcome == DONE]
