"""The agreed cap of an app and a row a worker: `holdfast.leases.ports.CapStore` in DynamoDB."""

from typing import TYPE_CHECKING, Any, Final

from holdfast.adapters.aws.dynamodb.errors import translate_errors
from holdfast.adapters.aws.dynamodb.items import DynamoItems
from holdfast.adapters.aws.dynamodb.marshal import plain_item, tagged
from holdfast.adapters.aws.dynamodb.tables import TableSpec, ensure_tables
from holdfast.adapters.clock import seed_time
from holdfast.kernel import Conflict, Write
from holdfast.kernel.event import EVENTS_KEPT_S
from holdfast.kernel.item import Item
from holdfast.leases import cap as cap_codec
from holdfast.leases import rows as row_codec
from holdfast.leases.cap import Cap, tell_of_an_agreement
from holdfast.leases.ports import WriteRow
from holdfast.leases.rows import Rows, WorkerRow

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

EXPIRY: Final = "expiresEpoch"
OURS: Final = "#app_name = :app_name AND #stream_name = :stream_name"
ROW_KEPT_S: Final = 7 * 24 * 3600
"""DynamoDB deletes the row of a worker that has not beaten for so long."""


def ensure_cap_tables(client: "DynamoDBClient", meta_table: str, *, again: bool = False) -> None:
    """Make the two tables if they are missing.  Twice is once; `again`: the last try failed."""
    ensure_tables(
        client,
        TableSpec(meta_table, ("worker_id",), EXPIRY),
        TableSpec(f"{meta_table}_events", ("pk", "sk"), EXPIRY),
        again=again,
    )


class DynamoCapStore(DynamoItems[Cap]):
    """The CapStore of one app and stream, in `<stream>_meta` and `<stream>_meta_events`."""

    def __init__(
        self, client: "DynamoDBClient", *, stream_name: str, app_name: str, meta_table: str = ""
    ) -> None:
        self._rows_table = meta_table or f"{stream_name}_meta"
        self._stream_name, self._app_name, self._dynamo = stream_name, app_name, client

        def beside(subject: str, write: Write[Cap]) -> Item:
            changed = tell_of_an_agreement(write.events)
            return self._named(write.events[0].at_s if changed else None)

        super().__init__(
            client,
            cap_codec.CODEC,
            table=self._rows_table,
            key="worker_id",
            events_table=f"{self._rows_table}_events",
            beside=beside,
            events_kept_s=EVENTS_KEPT_S,
        )

    def rows(self) -> Rows:
        with translate_errors(f"read {self._rows_table}"):
            pages = self._dynamo.get_paginator("scan").paginate(
                TableName=self._rows_table, ConsistentRead=True
            )
            items: list[Any] = [plain_item(row) for page in pages for row in page["Items"]]
        return row_codec.read_rows(
            ((str(item.pop("worker_id")), item) for item in items),
            table=self._rows_table,
            app_name=self._app_name,
            stream_name=self._stream_name,
        )

    def write_row(self, effect: WriteRow, at_s: float) -> None:
        row = effect.row
        expires: Item = {"expiresEpoch": int(at_s) + ROW_KEPT_S} if row.beats else {}
        stored = {**self._named(at_s), **expires, **row_codec.encode(row)}
        names = sorted({*row_codec.NAMES, "expiresEpoch"})
        removes = [f"#{name}" for name in names if name not in stored]
        request: dict[str, Any] = {
            "UpdateExpression": f"SET {', '.join(f'#{name} = :{name}' for name in names if name in stored)}"
            f" REMOVE {', '.join(removes)}",
            "ConditionExpression": _condition(effect),
            "ExpressionAttributeNames": {f"#{name}": name for name in names},
            "ExpressionAttributeValues": {
                **{f":{name}": tagged(value) for name, value in stored.items()},
                **({":over": tagged(effect.over)} if effect.over not in (None, "", row.incarnation) else {}),
            },
        }
        self._guarded(row.key, self._dynamo.update_item, request)

    def delete_row(self, row: WorkerRow) -> None:
        own = "#incarnation = :incarnation" if row.beats else "attribute_not_exists(#incarnation)"
        request: dict[str, Any] = {
            "ConditionExpression": f"attribute_not_exists(worker_id) OR ({OURS} AND {own})",
            "ExpressionAttributeNames": {
                f"#{name}": name for name in ("app_name", "stream_name", "incarnation")
            },
            "ExpressionAttributeValues": {
                **{f":{name}": tagged(value) for name, value in self._named(None).items()},
                **({":incarnation": tagged(row.incarnation)} if row.beats else {}),
            },
        }
        self._guarded(row.key, self._dynamo.delete_item, request)

    def _guarded(self, key: str, call: Any, request: dict[str, Any]) -> None:
        with translate_errors(f"write {self._rows_table}"):
            try:
                call(TableName=self._rows_table, Key={"worker_id": {"S": key}}, **request)
            except self._dynamo.exceptions.ConditionalCheckFailedException as error:
                raise Conflict(f"{self._rows_table} {key}: another row stands there") from error

    def _named(self, at_s: float | None) -> Item:
        """None: the time that stands there stays."""
        time: Item = {} if at_s is None else {"last_update_time": seed_time(at_s)}
        return {"stream_name": self._stream_name, "app_name": self._app_name, **time}


def _condition(effect: WriteRow) -> str:
    """That the row found still stands there, or an older beat of this very process."""
    if effect.row.beats:
        own = "(#incarnation = :incarnation AND #heartbeat < :heartbeat)"
    else:
        own = "attribute_not_exists(#incarnation)"
    match effect.over:
        case None:
            return f"attribute_not_exists(worker_id) OR ({OURS} AND {own})"
        case "":
            return f"{OURS} AND (attribute_not_exists(#incarnation) OR {own})"
        case effect.row.incarnation:
            return f"{OURS} AND {own}"
        case _:
            return f"{OURS} AND (#incarnation = :over OR {own})"
