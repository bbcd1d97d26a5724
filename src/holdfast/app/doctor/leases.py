"""What a stream worker needs: the stream listed, the tables there, their rows writable, workers expected."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.app.counting import expected_workers, lease_rows, shard_count
from holdfast.app.doctor.check import Check, failed, tried
from holdfast.kernel import HoldfastError
from holdfast.leases.cap import coordinator
from holdfast.leases.lease_rows import in_numbers
from holdfast.leases.ports import NotKnown
from holdfast.leases.settings import Settings

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

AGREEMENT, KINESIS, KCL, WORKERS = "agreement", "Kinesis", "KCL", "workers"


def leases_checks(settings: Settings, environ: Mapping[str, str] = os.environ) -> Iterator[Check]:
    """One answer after the other, as they come.  Nothing is touched.  Repeatable."""
    yield from _agreement(settings, environ)
    yield tried(KINESIS, f"count the shards of {settings.stream_name}", lambda: _shards(settings, environ))
    yield tried(KCL, f"read lease table {settings.lease_table_name}", lambda: _rows(settings, environ))
    yield _expected(settings, environ)


def _shards(settings: Settings, environ: Mapping[str, str]) -> str:
    return f"{shard_count(settings, environ).open_shards()} are open"


def _rows(settings: Settings, environ: Mapping[str, str]) -> str:
    table = in_numbers(lease_rows(settings, environ).leases(), settings.stream_name)
    return (
        f"{table.rows} rows, {table.readable} shards readable" if table.rows else "none: no KCL has run yet"
    )


def _expected(settings: Settings, environ: Mapping[str, str]) -> Check:
    found = expected_workers(settings, environ).expected()
    if isinstance(found, NotKnown):
        return Check(WORKERS, "how many are expected", False, "it is not known", found.why)
    return Check(WORKERS, "how many are expected", True, str(found))


def _agreement(settings: Settings, environ: Mapping[str, str]) -> Iterator[Check]:
    from holdfast.app.leases import open_store

    if settings.database and not Path(settings.database).exists():
        # Opening it would make it.
        yield Check(AGREEMENT, settings.database, None, "not there yet: the first worker makes it")
        return
    try:
        if not settings.database:
            tables = list(_tables(settings, environ))
            yield from tables
            if any(check.ok is not True for check in tables):
                return
        with open_store(settings, environ) as opened:
            subject = coordinator(settings.app_name)
            yield tried(AGREEMENT, f"read {subject}", lambda: _said(opened.store.read(subject).version))
            for problem in opened.store.rows().problems:
                yield Check(AGREEMENT, "a row makes no sense", False, problem, "mend it, or delete it")
    except HoldfastError as error:
        yield failed(AGREEMENT, "ask", error)


def _said(version: int) -> str:
    return f"version {version}" if version else "nothing is agreed yet"


def _tables(settings: Settings, environ: Mapping[str, str]) -> Iterator[Check]:
    from holdfast.adapters.aws.dynamodb.client import make_client
    from holdfast.app.clients import aws_client

    client = aws_client(make_client, settings.region, environ)
    meta = settings.meta_table_name
    for table, keys in ((meta, ("worker_id",)), (f"{meta}_events", ("pk", "sk"))):
        yield _table(client, table, keys)


def _table(client: "DynamoDBClient", table: str, keys: tuple[str, ...]) -> Check:
    from holdfast.adapters.aws.dynamodb import probe

    what = f"table {table}"
    try:
        found = probe.describe(client, table)
    except HoldfastError as error:
        if "ResourceNotFound" in str(error):
            return Check(AGREEMENT, what, None, "not there yet: the first worker makes it")
        return failed(AGREEMENT, what, error)
    if found.keys != keys:
        says = f"its key is {' and '.join(found.keys)}, not {' and '.join(keys)}"
        return Check(AGREEMENT, what, False, says, "name another table by META_TABLE")
    return Check(
        AGREEMENT, what, found.is_ready, found.status.lower(), "" if found.is_ready else "wait until it is"
    )
