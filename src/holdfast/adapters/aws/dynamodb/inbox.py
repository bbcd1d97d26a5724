"""The inbox beside the log: in `LOGS_TABLE`, under one key of its own, a row a notice."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from holdfast.adapters.aws.dynamodb.errors import translate_errors
from holdfast.adapters.aws.dynamodb.marshal import plain_item, tagged
from holdfast.cloud import Notice, NoticeKind
from holdfast.kernel import Busy, Corrupt

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

PK: Final = "notice"
KEPT_S: Final = 86_400
KNOWN: Final = frozenset(NoticeKind)
AT_ONCE: Final = 25
"""Deletes that one request may hold."""
TRIES: Final = 5
FIRST_WAIT_S: Final = 0.05


class DynamoInbox:
    """See `holdfast.autoscaler.ports.Inbox`.  What was not folded into a record within a day expires."""

    def __init__(
        self, client: "DynamoDBClient", table: str, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """`table` is there already, with the keys `pk` and `sk`."""
        self._client, self._table, self._sleep = client, table, sleep

    def put(self, notices: Sequence[Notice]) -> None:
        for notice in {each.key: each for each in reversed(notices)}.values():
            there = self._client.exceptions.ConditionalCheckFailedException
            with translate_errors(f"write {self._table}"), suppress(there):
                self._client.put_item(
                    TableName=self._table,
                    Item={name: tagged(value) for name, value in _row(notice).items()},
                    ConditionExpression="attribute_not_exists(sk)",
                )

    def waiting(self) -> Sequence[Notice]:
        found: list[Notice] = []
        start: dict[str, Any] = {}
        while True:
            with translate_errors(f"read {self._table}"):
                page: Any = self._client.query(
                    TableName=self._table,
                    KeyConditionExpression="pk = :pk",
                    ExpressionAttributeValues={":pk": {"S": PK}},
                    ConsistentRead=True,
                    **start,
                )
            rows = [plain_item(item) for item in page["Items"]]
            # A newer release may know more kinds, and those are for that one.
            found += [self._notice(row) for row in rows if row.get("kind") in KNOWN]
            if "LastEvaluatedKey" not in page:
                return found
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def _notice(self, row: Mapping[str, Any]) -> Notice:
        try:
            at_s, deadline_s = int(row["atEpoch"]), int(row["deadlineEpoch"])
            return Notice(str(row["instanceId"]), NoticeKind(row["kind"]), at_s, deadline_s)
        except (KeyError, TypeError, ValueError) as error:
            problem = f"{type(error).__name__}. Nothing was changed: mend or delete it by hand"
            raise Corrupt(table=self._table, key=row["sk"], attribute=str(error), problem=problem) from error

    def forget(self, keys: Sequence[str]) -> None:
        wanted = list(dict.fromkeys(keys))
        for n in range(0, len(wanted), AT_ONCE):
            some: list[Any] = [
                {"DeleteRequest": {"Key": {"pk": {"S": PK}, "sk": {"S": key}}}}
                for key in wanted[n : n + AT_ONCE]
            ]
            self._delete(some)

    def _delete(self, some: list[Any]) -> None:
        """DynamoDB takes as many of them as it has room for, and hands the others back."""
        wait_s = FIRST_WAIT_S
        for tries_left in reversed(range(TRIES)):
            with translate_errors(f"delete from {self._table}"):
                answer: Any = self._client.batch_write_item(RequestItems={self._table: some})
            some = answer.get("UnprocessedItems", {}).get(self._table, [])
            if not some:
                return
            if tries_left:
                self._sleep(wait_s)
                wait_s *= 2
        raise Busy(f"delete from {self._table}: {len(some)} notices are still there after {TRIES} tries")


def _row(notice: Notice) -> dict[str, object]:
    return {
        "pk": PK,
        "sk": notice.key,
        "instanceId": notice.instance_id,
        "kind": str(notice.kind),
        "atEpoch": notice.at_s,
        "deadlineEpoch": notice.deadline_s,
        "expiresEpoch": int(notice.at_s) + KEPT_S,
    }
