"""The agreed cap of a stream and a row a worker: `holdfast.leases.ports.CapStore` in DynamoDB."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from holdfast.adapters.aws.dynamodb.errors import translate_errors
from holdfast.adapters.aws.dynamodb.items import DynamoItems
from holdfast.adapters.aws.dynamodb.marshal import plain, tagged
from holdfast.adapters.aws.dynamodb.tables import ensure_table
from holdfast.kernel import Write
from holdfast.kernel.event import EVENTS_KEPT_S
from holdfast.kernel.item import Item
from holdfast.leases import cap as cap_codec
from holdfast.leases.cap import Cap, View

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient


class DynamoCapStore(DynamoItems[Cap]):
    """The CapStore of one stream, in `<stream>_meta` and `<stream>_meta_events`."""

    def __init__(self, client: "DynamoDBClient", *, stream_name: str, app_name: str) -> None:
        self._workers_table = f"{stream_name}_meta"
        self._stream_name, self._dynamo = stream_name, client
        ensure_table(client, self._workers_table, "worker_id")
        ensure_table(client, f"{stream_name}_meta_events", "pk", "sk", expiry="expiresEpoch")

        def beside(subject: str, write: Write[Cap]) -> Item:
            return self._named(app_name, write.events[0].at_s)

        super().__init__(
            client,
            cap_codec.CODEC,
            table=self._workers_table,
            key="worker_id",
            events_table=f"{stream_name}_meta_events",
            beside=beside,
            events_kept_s=EVENTS_KEPT_S,
        )

    def save_worker(self, app_name: str, worker_id: str, view: View, at_s: float) -> None:
        key = cap_codec.worker_subject(app_name, worker_id)
        row = {"worker_id": key, **self._named(app_name, at_s), **cap_codec.encode(Cap(view))}
        with translate_errors(f"write {self._workers_table}"):
            self._dynamo.put_item(
                TableName=self._workers_table,
                Item={name: tagged(value) for name, value in row.items()},
            )

    def workers(self, app_name: str) -> dict[str, int]:
        with translate_errors(f"read {self._workers_table}"):
            pages = self._dynamo.get_paginator("scan").paginate(
                TableName=self._workers_table,
                ConsistentRead=True,
                FilterExpression="app_name = :app AND worker_id <> :coordinator",
                ExpressionAttributeValues={
                    ":app": {"S": app_name},
                    ":coordinator": {"S": cap_codec.coordinator(app_name)},
                },
            )
            rows: list[Any] = [row for page in pages for row in page["Items"]]
        return {str(plain(row["worker_id"])): int(plain(row["max_leases_per_worker"])) for row in rows}

    def _named(self, app_name: str, at_s: float) -> Item:
        when = datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"stream_name": self._stream_name, "app_name": app_name, "last_update_time": when}
