"""A look at what stands beside the record: a transaction of its own, begun after the record was read.

The clock is asked first: what is left of a lease is never told too short.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from holdfast.adapters.sql.connection import Begin
from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups.codec import key_of
from holdfast.failover.ports import InstanceRow, Look, Report
from holdfast.failover.tenants import Client
from holdfast.kernel import Corrupt


def look(database: SqlDatabase, subject: str) -> Look:
    client_id, _ = key_of(subject)
    with database.transaction(Begin.READ) as tx:
        ((now_s,),) = tx.rows("now")
        rows = tx.rows("look", id=subject)
        launches = tx.rows("launches_left", client_id=client_id)
        pools = tx.rows("pools", client_id=client_id)
    return Look(
        now_s=float(now_s),
        rows=tuple(_row(database.where, row) for row in rows),
        launches_left=max(0, int(launches[0][0])) if launches else Client(client_id="").launches_per_hour_max,
        ready_s={str(pool): float(seconds) for pool, seconds in pools},
    )


def _row(where: str, row: Sequence[Any]) -> InstanceRow:
    instance_id, epoch, is_primary, session, boot_id, lease_until_s, heartbeat_s, report = row
    return InstanceRow(
        instance_id=instance_id,
        epoch=epoch,
        is_primary=bool(is_primary),
        session=session,
        boot_id=boot_id,
        lease_until_s=float(lease_until_s),
        heartbeat_s=float(heartbeat_s),
        report=_report(where, instance_id, report),
    )


def _report(where: str, instance_id: str, stored: str) -> Report:
    try:
        return msgspec.json.decode(stored, type=Report)
    except msgspec.DecodeError as error:
        raise Corrupt(
            table=f"{where}: instances", key=instance_id, attribute="report", problem=str(error)
        ) from error
