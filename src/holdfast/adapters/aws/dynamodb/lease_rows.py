"""The lease table of a KCL, only ever read: `holdfast.leases.ports.LeaseRows`.

Nothing is written here, whatever happens: a KCL of 2.x or 3.4 fails on a single row that is not its own.
A KCL of 3.5 keeps other things in the same table, told apart by `entityType`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from holdfast.adapters.aws import errors
from holdfast.adapters.aws.dynamodb.errors import CODES
from holdfast.leases.lease_rows import Lease

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

SCAN: Final = "dynamodb:Scan"
NAME_MIN: Final = 3
"""DynamoDB knows no shorter name of a table, so there is none."""
LEASE: Final = "LEASE"
KEY: Final = "leaseKey"
WANTED: Final = (KEY, "leaseCounter", "leaseOwner", "checkpoint", "parentShardId", "entityType")


class KclLeaseRows:
    """The leases in one table of a KCL, of any release since 2.0."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client, self._table = client, table

    def leases(self) -> Sequence[Lease]:
        if len(self._table) < NAME_MIN:
            return ()
        try:
            with errors.translate_errors(f"read {self._table}", changes=False, codes=CODES):
                return tuple(found for row in self._rows() if (found := lease_of(row)))
        except errors.Rejected as error:
            if error.code == "ResourceNotFoundException":
                return ()
            raise
        except errors.Denied as error:
            fix = f"{errors.GRANT} on table/{self._table}: {SCAN}" if error.is_missing_grant else error.fix
            raise errors.Denied(SCAN, f"{self._table}: {error.message}", fix) from error

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        """A page that is a moment old will do: fewer shards are believed only when two looks agree."""
        for page in self._client.get_paginator("scan").paginate(
            TableName=self._table, ProjectionExpression=", ".join(WANTED)
        ):
            yield from page["Items"]


def lease_of(row: Mapping[str, Any]) -> Lease | None:
    """The row as a lease; None for one of another kind or schema, and for one that makes no sense."""
    key = _text(row, KEY)
    if not key or "N" not in row.get("leaseCounter", {}) or _text(row, "entityType") not in ("", LEASE):
        return None
    # In a table of several streams the key has the stream before the shard, and the parents have not.
    stream, colon, _ = key.rpartition(":")
    parents = row.get("parentShardId", {}).get("SS", ())
    return Lease(
        key=key,
        checkpoint=_text(row, "checkpoint"),
        owner=_text(row, "leaseOwner"),
        parents=frozenset(f"{stream}{colon}{parent}" for parent in parents),
        # account:stream:epoch, and no name of a stream has a colon.
        stream=stream.split(":")[1] if stream.count(":") == 2 else "",
    )


def _text(row: Mapping[str, Any], name: str) -> str:
    return str(row.get(name, {}).get("S", ""))
