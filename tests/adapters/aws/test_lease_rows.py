"""Rows that real KCLs have written, read as leases; and tables that are none of theirs."""

import ast
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from holdfast.adapters.aws.dynamodb.lease_rows import KclLeaseRows, lease_of
from holdfast.adapters.aws.errors import Denied
from holdfast.kernel import Busy
from holdfast.leases.lease_rows import Lease, in_numbers
from tools.aws_calls import calls_in

WRITTEN = Path(__file__).with_name("kcl_rows")
"""By each release on kinesis-local and MiniStack: the rows of its tables at some moments, as they were."""


def rows(release: str, moment: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((WRITTEN / f"{release}.json").read_text())[moment]
    return found


class Table:
    """Answers a scan in pages of five, as asked; or refuses."""

    def __init__(self, items: Sequence[Mapping[str, Any]] = (), code: str = "") -> None:
        self.items, self.code, self.asked = items, code, list[dict[str, Any]]()

    def get_paginator(self, call: str) -> "Table":
        assert call == "scan"
        return self

    def paginate(self, **asked: Any) -> Any:
        self.asked.append(asked)
        if self.code:
            told = {"Error": {"Code": self.code}, "ResponseMetadata": {"HTTPStatusCode": 400}}
            raise ClientError(told, "Scan")  # type: ignore[arg-type]
        wanted = asked["ProjectionExpression"].split(", ")
        for n in range(0, len(self.items), 5):
            part = self.items[n : n + 5]
            yield {"Items": [{name: row[name] for name in wanted if name in row} for row in part]}


def leases(table: Any) -> Sequence[Lease]:
    return KclLeaseRows(table, "my-app").leases()


@pytest.mark.parametrize(
    ("release", "moment", "all_rows", "readable"),
    [
        ("kcl-2.7.2", "one-worker app2", 4, 4),
        ("kcl-2.7.2", "after-reshard-4to8 app2", 8, 8),
        ("kcl-2.7.2", "shard-end-8to4 app2", 12, 4),
        ("kcl-3.1.3", "multilang-3.1.3 kclpybench", 4, 4),
        ("kcl-3.5.1", "two-workers-balanced app3", 4, 4),
        ("kcl-3.5.1", "after-reshard-4to8 app3", 8, 8),
        ("kcl-3.5.1", "shard-end-8to4 app3", 12, 4),
        ("kcl-3.5.1-beside-2.7.2", "compat-3.5.1-with-2.7.2 app2", 12, 4),
    ],
)
def test_every_release_is_read_and_rows_of_other_kinds_are_left_out(
    release: str, moment: str, all_rows: int, readable: int
) -> None:
    written = rows(release, moment)
    found = in_numbers(leases(Table(written)))
    assert (found.rows, found.readable) == (all_rows, readable)
    assert all_rows == sum("leaseCounter" in row for row in written), "those are what a KCL reads as leases"


@pytest.mark.parametrize("table", ["CoordinatorState", "WorkerMetricStats"])
def test_tables_with_another_schema_have_no_leases(table: str) -> None:
    others = rows("kcl-3.1.3", f"multilang-3.1.3 kclpybench-{table}")
    assert others
    assert leases(Table(others)) == ()


def test_the_table_of_another_library_has_no_leases() -> None:
    row = {"ShardID": {"S": "shardId-000000000000"}, "AssignedTo": {"S": "w1"}, "Checkpoint": {"S": "LATEST"}}
    assert leases(Table([row])) == ()


def test_a_missing_table_has_none_and_so_has_a_name_that_no_table_can_have() -> None:
    assert leases(Table(code="ResourceNotFoundException")) == ()
    never_asked = Table(code="ValidationException")
    assert KclLeaseRows(never_asked, "ab").leases() == ()  # type: ignore[arg-type]
    assert not never_asked.asked


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"leaseKey": {"N": "7"}, "leaseCounter": {"N": "1"}},
        {"leaseKey": {"S": ""}, "leaseCounter": {"N": "1"}},
        {"leaseKey": {"S": "shardId-000000000000"}},
        {"leaseKey": {"S": "shardId-000000000000"}, "leaseCounter": {"S": "one"}},
        {"leaseKey": {"S": "Leader"}, "leaseCounter": {"N": "1"}, "entityType": {"S": "LEADER"}},
    ],
)
def test_a_row_that_makes_no_sense_stops_nothing(row: dict[str, Any]) -> None:
    good = {"leaseKey": {"S": "shardId-000000000001"}, "leaseCounter": {"N": "3"}}
    assert leases(Table([row, good])) == (Lease("shardId-000000000001"),)


def test_in_a_table_of_several_streams_a_childs_parents_are_those_of_its_own_stream() -> None:
    stream = "111122223333:orders:1700000000"
    child = {
        "leaseKey": {"S": f"{stream}:shardId-000000000002"},
        "leaseCounter": {"N": "0"},
        "parentShardId": {"SS": ["shardId-000000000000"]},
        "checkpoint": {"S": "TRIM_HORIZON"},
    }
    found = lease_of(child)
    assert found is not None
    assert found.parents == {f"{stream}:shardId-000000000000"}


def test_in_a_table_of_several_streams_every_row_fills_a_cap_and_only_our_shards_are_counted() -> None:
    keys = [
        f"111122223333:{stream}:1700000000:shardId-{n}" for stream in ("orders", "sales") for n in range(4)
    ]
    found = leases(Table([{"leaseKey": {"S": key}, "leaseCounter": {"N": "0"}} for key in keys]))

    table = in_numbers(found, "orders")

    assert (table.rows, table.readable) == (8, 4)


@pytest.mark.parametrize(
    ("code", "raised", "fix"),
    [
        ("AccessDeniedException", Denied, "on table/my-app: dynamodb:Scan"),
        ("ExpiredTokenException", Denied, "renew the credentials"),
        ("ProvisionedThroughputExceededException", Busy, "my-app"),
        ("InternalServerError", Busy, "my-app"),
    ],
)
def test_a_refusal_names_the_table_and_the_fix(code: str, raised: type[Exception], fix: str) -> None:
    with pytest.raises(raised) as refused:
        leases(Table(code=code))
    assert fix in str(refused.value)


def test_only_reading_calls_are_made() -> None:
    source = Path(__file__).parents[3] / "src/holdfast/adapters/aws/dynamodb/lease_rows.py"
    assert set(calls_in(ast.parse(source.read_text()), "dynamodb")) == {"Scan"}
