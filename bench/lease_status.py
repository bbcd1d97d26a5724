"""`leases status` of a thousand shards and a hundred workers, beside reading the same rows with boto3.

Ours: settings read, every shard, lease row and worker's row read and judged, the last change found, JSON
written.  Beside: import boto3, make the two clients, list the shards and scan the two tables.  Both in CPU
time of a fresh process from its first line on.
"""

from statistics import median
from typing import Any, Final

from bench import Row
from bench.grounds.stream import APP, STREAM, Ground, ground, measured

RATIO_MAX: Final = 1.5
SHARDS, WORKERS = 1000, 100
ROUNDS: Final = 5
"""Each is ours, bare, bare, ours: a machine that slows down slows both."""

OURS: Final = """
from holdfast.cli import main
main(["leases", "status", "--json"], standalone_mode=False)
result = time.process_time() - begun_s
"""
BARE: Final = f"""
import boto3

kinesis, dynamodb = boto3.client("kinesis"), boto3.client("dynamodb")
page = kinesis.list_shards(StreamName="{STREAM}", ShardFilter={{"Type": "AT_LATEST"}})
shards = len(page["Shards"])
while page.get("NextToken"):
    page = kinesis.list_shards(NextToken=page["NextToken"])
    shards += len(page["Shards"])
assert shards == {SHARDS}
for table, count in (("{APP}", {SHARDS}), ("{STREAM}_meta", {WORKERS} + 1)):
    pages = dynamodb.get_paginator("scan").paginate(TableName=table)
    assert sum(len(page["Items"]) for page in pages) == count, table
result = time.process_time() - begun_s
"""
AGREE: Final = """
from holdfast.cli import main
main(["leases", "cap"], standalone_mode=False)
result = 0
"""


def run() -> list[Row]:
    with ground(SHARDS) as stands:
        environ = stands.environment("worker-0", KDS_WORKER_COUNT=str(WORKERS))
        measured(AGREE, environ)
        _furnish(stands)
        for script in (OURS, BARE):
            measured(script, environ)
        rounds = []
        for _ in range(ROUNDS):
            ours_s = measured(OURS, environ)
            bare_s = measured(BARE, environ) + measured(BARE, environ)
            rounds.append((ours_s + measured(OURS, environ), bare_s))
    ours_s, bare_s = (sum(side) for side in zip(*rounds, strict=True))
    return [
        Row(
            f"leases status, {SHARDS:,} shards, {WORKERS} workers",
            ours_per_s=2 * ROUNDS / ours_s,
            beside="boto3 reads the same rows",
            beside_per_s=2 * ROUNDS / bare_s,
            ratio=median(one / other for one, other in rounds),
            ratio_max=RATIO_MAX,
        )
    ]


def _furnish(stands: Ground) -> None:
    """A lease a shard, and as many workers as share them."""
    client = stands.client()
    client.create_table(
        TableName=APP,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "leaseKey", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "leaseKey", "KeyType": "HASH"}],
    )
    _put(client, APP, [_lease(n) for n in range(SHARDS)])
    key = {"worker_id": {"S": "worker-0"}}
    own = client.get_item(TableName=f"{STREAM}_meta", Key=key)["Item"]
    others = [{**own, "worker_id": {"S": f"worker-{n}"}} for n in range(1, WORKERS)]
    _put(client, f"{STREAM}_meta", others)
    client.close()


def _lease(n: int) -> dict[str, Any]:
    return {
        "leaseKey": {"S": f"shardId-{n:012}"},
        "leaseCounter": {"N": "7"},
        "leaseOwner": {"S": f"worker-{n % WORKERS}"},
        "checkpoint": {"S": "49680253998953220442060736855044338856076726008041963522"},
        "checkpointSubSequenceNumber": {"N": "0"},
        "ownerSwitchesSinceCheckpoint": {"N": "0"},
        "startingHashKey": {"S": "85070591730234615865843651857942052863"},
        "endingHashKey": {"S": "170141183460469231731687303715884105725"},
    }


def _put(client: Any, table: str, items: list[dict[str, Any]]) -> None:
    for n in range(0, len(items), 25):
        requests = [{"PutRequest": {"Item": item}} for item in items[n : n + 25]]
        client.batch_write_item(RequestItems={table: requests})
