"""Where the record and the log are: there, of the right shape, readable, writable."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.app.doctor.check import Check, failed, tried
from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.ports import ClusterStore, Inbox
from holdfast.autoscaler.settings import Settings
from holdfast.kernel import HoldfastError

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

DYNAMODB = "DynamoDB"
SQLITE = "SQLite"
EXPIRY = "expiresEpoch"
MAKE = "deploy deploy/aws-sam, or run `holdfast autoscaler tick --create-tables` once"
NEVER = "attribute_exists(pk) AND attribute_not_exists(pk)"
"""A condition that no item fulfils: what is guarded by it is weighed by IAM, and never done."""


def sqlite(settings: Settings, environ: Mapping[str, str]) -> Iterator[Check]:
    from holdfast.app.autoscaler.stores import open_stores

    if not Path(settings.database).exists():
        # Opening it would make it.
        folder = Path(settings.database).absolute().parent
        fix = f"make the folder {folder}, or name another file in `database`"
        there = folder.is_dir()
        says = "not there yet: the first tick makes it" if there else "its folder is not there"
        yield Check(SQLITE, settings.database, None if there else False, says, "" if there else fix)
        return
    try:
        with open_stores(settings, environ) as stores:
            yield _readable(SQLITE, settings.database, stores.store, stores.inbox)
    except HoldfastError as error:
        yield failed(SQLITE, settings.database, error)


def _readable(area: str, what: str, store: ClusterStore, inbox: Inbox) -> Check:
    def read() -> str:
        found = store.read(SUBJECT)
        waiting = len(inbox.waiting())
        return f"version {found.version}, {found.value.worker_count} workers noted, {waiting} notices waiting"

    return tried(area, f"read the record in {what}", read)


def dynamodb(settings: Settings, environ: Mapping[str, str]) -> Iterator[Check]:
    from holdfast.app.autoscaler import clients
    from holdfast.app.autoscaler.stores import open_stores

    client = clients.dynamodb_client(settings, environ)
    state, logs = settings.state_table, settings.logs_table
    checks = [_table(client, state, ["pk"]), _table(client, logs, ["pk", "sk"])]
    yield from checks
    if any(check.ok is False for check in checks):
        return
    with open_stores(settings, environ) as stores:
        yield _readable(DYNAMODB, state, stores.store, stores.inbox)
    yield tried(DYNAMODB, f"dynamodb:UpdateItem on {state}", lambda: _update(client, state))
    yield tried(DYNAMODB, f"dynamodb:PutItem on {logs}", lambda: _put(client, logs))
    yield tried(DYNAMODB, f"dynamodb:BatchWriteItem on {logs}", lambda: _delete(client, logs))
    yield _expiry(client, logs)


def _table(client: "DynamoDBClient", table: str, keys: Sequence[str]) -> Check:
    from holdfast.adapters.aws.dynamodb.errors import translate_errors

    what = f"table {table}"
    try:
        with translate_errors(f"describe {table}"):
            found: Any = client.describe_table(TableName=table)["Table"]
    except HoldfastError as error:
        if "ResourceNotFound" in str(error):
            return Check(DYNAMODB, what, False, "there is no such table", MAKE)
        if "AccessDenied" in str(error):
            says = "may not be described, which only this check needs"
            return Check(DYNAMODB, what, None, says, f"grant dynamodb:DescribeTable on {table}")
        return failed(DYNAMODB, what, error)
    has = [each["AttributeName"] for each in sorted(found["KeySchema"], key=lambda each: each["KeyType"])]
    if has != list(keys):
        says = f"its key is {', '.join(has)}, not {', '.join(keys)}"
        return Check(DYNAMODB, what, False, says, "name another table, or remove this one and make it anew")
    ready = found["TableStatus"] in ("ACTIVE", "UPDATING")
    return Check(
        DYNAMODB, what, ready, str(found["TableStatus"]).lower(), "" if ready else "wait until it is"
    )


def _update(client: "DynamoDBClient", table: str) -> str:
    update: Any = {
        "TableName": table,
        "Key": {"pk": {"S": SUBJECT}},
        "UpdateExpression": "SET version = version",
        "ConditionExpression": NEVER,
    }
    return _never_done(client, f"write {table}", {"Update": update})


def _put(client: "DynamoDBClient", table: str) -> str:
    item = {"pk": {"S": "doctor"}, "sk": {"S": uuid.uuid4().hex}}
    put: Any = {"TableName": table, "Item": item, "ConditionExpression": NEVER}
    return _never_done(client, f"write {table}", {"Put": put})


def _never_done(client: "DynamoDBClient", what: str, request: Any) -> str:
    from holdfast.adapters.aws.dynamodb.errors import cancellation_error, failed_condition, translate_errors

    with translate_errors(what):
        try:
            client.transact_write_items(TransactItems=[request])
        except client.exceptions.TransactionCanceledException as error:
            reasons: list[Any] = error.response.get("CancellationReasons", [])
            if failed_condition(reasons) is None:
                raise cancellation_error(what, reasons) from error
    return "allowed"


def _delete(client: "DynamoDBClient", table: str) -> str:
    from holdfast.adapters.aws.dynamodb.errors import translate_errors

    absent = {"pk": {"S": "doctor"}, "sk": {"S": uuid.uuid4().hex}}
    with translate_errors(f"delete from {table}"):
        client.batch_write_item(RequestItems={table: [{"DeleteRequest": {"Key": absent}}]})
    return "allowed"


def _expiry(client: "DynamoDBClient", table: str) -> Check:
    from holdfast.adapters.aws.dynamodb.errors import translate_errors

    what = f"expiry of {table}"
    fix = (
        f"aws dynamodb update-time-to-live --table-name {table} "
        f'--time-to-live-specification "Enabled=true,AttributeName={EXPIRY}"'
    )
    try:
        with translate_errors(f"describe {table}"):
            found: Any = client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    except HoldfastError as error:
        return Check(DYNAMODB, what, None, f"could not be looked at: {error}")
    if found.get("TimeToLiveStatus") in ("ENABLED", "ENABLING") and found.get("AttributeName") == EXPIRY:
        return Check(DYNAMODB, what, True, f"by {EXPIRY}")
    return Check(DYNAMODB, what, None, "old events are kept for ever", fix)
