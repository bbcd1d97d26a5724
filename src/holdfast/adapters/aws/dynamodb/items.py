"""Records as flat items, each with its events in a second table.

A commit is one transaction: the record, guarded by its version and by what the seeds
state, and its events, each guarded by not being there.  The commit id is the request
token; DynamoDB remembers tokens for ten minutes only, so after a failed condition the
event at the next version says whose write it was.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from holdfast.adapters.aws.dynamodb.errors import cancellation_error, failed_condition, translate_errors
from holdfast.adapters.aws.dynamodb.marshal import plain, plain_item, tagged
from holdfast.kernel import Busy, Conflict, Event, Logged, Unknown, Versioned, Write
from holdfast.kernel.event import sort_key
from holdfast.kernel.item import Codec, Item, load_version

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

Record = TypeVar("Record")


class DynamoItems(Generic[Record]):
    """A repository of one codec's records in one table, events in another."""

    def __init__(
        self,
        client: "DynamoDBClient",
        codec: Codec[Record],
        *,
        table: str,
        key: str,
        events_table: str,
        beside: Callable[[str, Write[Record]], Item] = lambda subject, write: {},
        events_kept_s: int | None = None,
    ) -> None:
        """`beside` gives attributes that people read in the item and no decision needs."""
        self._client, self._codec = client, codec
        self._table, self._key, self._events_table = table, key, events_table
        self._beside, self._events_kept_s = beside, events_kept_s
        self._behind: set[str] = set()
        """Records that were found behind their log: from then on the log is asked too."""

    def read(self, subject: str) -> Versioned[Record]:
        raw, version = self._get(subject), 0
        if "version" not in raw and (version := self._last_told(subject)):
            # Either the record was lost, and goes on where its log ends, or it was first
            # written between the two looks.  Only a third one can tell.
            raw = self._get(subject)
        item, restored_from = plain_item(raw), None
        if "version" in item:
            version = load_version(item, table=self._table, key=subject)
            if subject in self._behind and (last := self._last_told(subject)) > version:
                version, restored_from = last, version
        value = self._codec.load(item, table=self._table, key=subject)
        commit_id = str(item.get("commitId", ""))
        return Versioned(value, version, commit_id, self._guarded_attributes(raw), restored_from)

    def _get(self, subject: str) -> Mapping[str, Any]:
        with translate_errors(f"read {self._table}"):
            answer = self._client.get_item(
                TableName=self._table, Key={self._key: {"S": subject}}, ConsistentRead=True
            )
        return answer.get("Item", {})

    def commit(
        self, subject: str, found: Versioned[Record], write: Write[Record], commit_id: str
    ) -> Versioned[Record]:
        version = found.version + 1
        item = {**self._beside(subject, write), **self._codec.encode(write.value)}
        stored = {**item, "version": version, "commitId": commit_id}
        done = Versioned(
            write.value,
            version,
            commit_id,
            self._guarded_attributes({name: tagged(v) for name, v in stored.items()}),
        )
        events = [self._event_put(subject, version, n, commit_id, e) for n, e in enumerate(write.events)]
        update: Any = {"Update": self._update(subject, found, stored)}
        with translate_errors(f"commit {self._table}"):
            try:
                self._client.transact_write_items(
                    TransactItems=[update, *events], ClientRequestToken=commit_id
                )
            except self._client.exceptions.TransactionCanceledException as error:
                reasons: list[Any] = error.response.get("CancellationReasons", [])
                if failed_condition(reasons) is None:
                    raise cancellation_error(f"commit {self._table}", reasons) from error
                winner = self._winner(subject, version)
                if winner != commit_id:
                    if not failed_condition(reasons[:1]):  # the record itself has not moved on
                        self._note_whether_behind(subject, found.version, winner)
                    raise Conflict(
                        f"{self._table} {subject}: no longer at version {found.version}"
                    ) from error
        return done

    def _note_whether_behind(self, subject: str, version: int, winner: str | None) -> None:
        """The log has the next version, and the record is still at this one: it was restored, and not lost
        in a race.  Record and log are always written together."""
        if winner is None:
            return
        try:
            stored = plain_item(self._get(subject)).get("version")
        except (Busy, Unknown):
            return  # the next refusal will tell
        if stored == version:
            self._behind.add(subject)

    def _winner(self, subject: str, version: int) -> str | None:
        """Whose write a failed condition met: it may be our own first try, whose answer was lost."""
        try:
            return self.commit_id_at(subject, version)
        except Busy as error:
            # Busy would say "certainly not written", which is just what we do not know.
            raise Unknown(f"{self._table} {subject}: {error}") from error

    def commit_id_at(self, subject: str, version: int) -> str | None:
        with translate_errors(f"read {self._events_table}"):
            answer = self._client.get_item(
                TableName=self._events_table,
                Key={"pk": {"S": subject}, "sk": {"S": sort_key(version, 0)}},
                ConsistentRead=True,
            )
        item: Mapping[str, Any] | None = answer.get("Item")
        return str(plain(item["commitId"])) if item else None

    def events(self, subject: str, after: int = 0) -> Sequence[Logged]:
        found: list[Logged] = []
        start: dict[str, Any] = {}
        while True:
            with translate_errors(f"read {self._events_table}"):
                page = self._client.query(
                    TableName=self._events_table,
                    KeyConditionExpression="pk = :subject AND sk > :after",
                    ExpressionAttributeValues={
                        ":subject": {"S": subject},
                        ":after": {"S": sort_key(after, 99)},
                    },
                    ConsistentRead=True,
                    **start,
                )
            found += [_logged(subject, plain_item(item)) for item in _items(page)]
            if "LastEvaluatedKey" not in page:
                return found
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def _last_told(self, subject: str) -> int:
        with translate_errors(f"read {self._events_table}"):
            page = self._client.query(
                TableName=self._events_table,
                KeyConditionExpression="pk = :subject",
                ExpressionAttributeValues={":subject": {"S": subject}},
                ScanIndexForward=False,
                ConsistentRead=True,
                Limit=1,
            )
        return int(plain(_items(page)[0]["version"])) if page["Items"] else 0

    def _guarded_attributes(self, raw: Mapping[str, Any]) -> dict[str, object]:
        return {name: raw.get(name) for name in ("version", *self._codec.guarded_attributes)}

    def _update(self, subject: str, found: Versioned[Record], stored: Mapping[str, Any]) -> dict[str, Any]:
        """Set what is ours and remove what is ours and absent; what others wrote stays."""
        names = sorted(self._codec.names | set(stored))
        sets = [f"#{name} = :{name}" for name in names if name in stored]
        removes = [f"#{name}" for name in names if name not in stored]
        guarded_attributes = found.guarded_attributes or {
            "version": tagged(found.version) if found.version else None
        }
        conditions = [
            f"attribute_not_exists(#{name})" if value is None else f"#{name} = :old_{name}"
            for name, value in guarded_attributes.items()
        ]
        return {
            "TableName": self._table,
            "Key": {self._key: {"S": subject}},
            "UpdateExpression": f"SET {', '.join(sets)}"
            + (f" REMOVE {', '.join(removes)}" if removes else ""),
            "ConditionExpression": " AND ".join(conditions),
            "ExpressionAttributeNames": {f"#{name}": name for name in {*names, *guarded_attributes}},
            "ExpressionAttributeValues": {
                **{f":{name}": tagged(value) for name, value in stored.items()},
                **{f":old_{name}": value for name, value in guarded_attributes.items() if value is not None},
            },
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }

    def _event_put(self, subject: str, version: int, n: int, commit_id: str, event: Event) -> Any:
        row: dict[str, object] = {
            "pk": subject,
            "sk": sort_key(version, n),
            "version": version,
            "n": n,
            "commitId": commit_id,
            "kind": event.kind,
            "atEpoch": event.at_s,
            "about": event.about,
            "reason": event.reason,
            "numbers": dict(event.numbers),
            **({"code": event.code} if event.code else {}),
        }
        if self._events_kept_s is not None:
            row["expiresEpoch"] = int(event.at_s) + self._events_kept_s
        return {
            "Put": {
                "TableName": self._events_table,
                "Item": {name: tagged(value) for name, value in row.items()},
                "ConditionExpression": "attribute_not_exists(sk)",
            }
        }


def _logged(subject: str, row: Mapping[str, Any]) -> Logged:
    told = (row["about"], row["reason"], row["numbers"], row.get("code", ""))
    event = Event(row["kind"], float(row["atEpoch"]), *told)
    return Logged(subject, row["version"], row["n"], row["commitId"], event)


def _items(page: Any) -> list[Mapping[str, Any]]:
    items: list[Mapping[str, Any]] = page["Items"]
    return items
