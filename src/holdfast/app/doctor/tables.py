"""Where the record and the log are: there, of the right shape, readable, writable."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.app.doctor.check import Check, allowed, failed, tried
from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.ports import ClusterStore, Inbox
from holdfast.autoscaler.settings import Settings
from holdfast.cloud.text import counted
from holdfast.kernel import HoldfastError

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

DYNAMODB = "DynamoDB"
SQLITE = "SQLite"
EXPIRY = "expiresEpoch"
MAKE = "deploy deploy/aws-sam, or run `holdfast autoscaler tick --create-tables` once"


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
        waiting, workers = len(inbox.waiting()), counted(found.value.worker_count, "worker")
        return f"version {found.version}, {workers} noted, {counted(waiting, 'notice')} waiting"

    return tried(area, f"read the record in {what}", read)


def dynamodb(settings: Settings, environ: Mapping[str, str]) -> Iterator[Check]:
    from holdfast.adapters.aws.dynamodb import probe
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
    for action, table, ask in (
        ("dynamodb:UpdateItem", state, lambda: probe.try_update(client, state, SUBJECT)),
        ("dynamodb:PutItem", logs, lambda: probe.try_put(client, logs)),
        ("dynamodb:BatchWriteItem", logs, lambda: probe.try_delete(client, logs)),
    ):
        yield allowed(DYNAMODB, f"{action} on {table}", ask)
    yield _expiry(client, logs)


def _table(client: "DynamoDBClient", table: str, keys: Sequence[str]) -> Check:
    from holdfast.adapters.aws.dynamodb import probe

    what = f"table {table}"
    try:
        found = probe.describe(client, table)
    except HoldfastError as error:
        if "ResourceNotFound" in str(error):
            return Check(DYNAMODB, what, False, "there is no such table", MAKE)
        if "AccessDenied" in str(error):
            says = "may not be described, which only this check needs"
            return Check(DYNAMODB, what, None, says, f"grant dynamodb:DescribeTable on {table}")
        return failed(DYNAMODB, what, error)
    if found.keys != tuple(keys):
        says = f"its key is {', '.join(found.keys)}, not {', '.join(keys)}"
        return Check(DYNAMODB, what, False, says, "name another table, or remove this one and make it anew")
    fix = "" if found.is_ready else "wait until it is"
    return Check(DYNAMODB, what, found.is_ready, found.status.lower(), fix)


def _expiry(client: "DynamoDBClient", table: str) -> Check:
    from holdfast.adapters.aws.dynamodb import probe

    what = f"expiry of {table}"
    fix = (
        f"aws dynamodb update-time-to-live --table-name {table} "
        f'--time-to-live-specification "Enabled=true,AttributeName={EXPIRY}"'
    )
    try:
        attribute = probe.expiring_attribute(client, table)
    except HoldfastError as error:
        return Check(DYNAMODB, what, None, f"could not be looked at: {error}")
    if attribute == EXPIRY:
        return Check(DYNAMODB, what, True, f"by {EXPIRY}")
    return Check(DYNAMODB, what, None, "old events are kept for ever", fix)
