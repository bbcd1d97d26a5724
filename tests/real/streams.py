"""Streams on a stand-in: made, resharded, written to, and asked for their shards without the product."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import boto3
from botocore.config import Config

from tests.real.traces import wait_until

KEYS: dict[str, Any] = {
    "region_name": "us-east-1",
    "aws_access_key_id": "any",
    "aws_secret_access_key": "any",
}
SETTINGS = Config(retries={"total_max_attempts": 1}, read_timeout=300)


@dataclass(frozen=True)
class Streams:
    client: Any

    @classmethod
    @contextmanager
    def at(cls, endpoint: str) -> Iterator[Self]:
        client: Any = boto3.client("kinesis", endpoint_url=endpoint, config=SETTINGS, **KEYS)
        try:
            yield cls(client)
        finally:
            client.close()

    def make(self, name: str, shards: int) -> None:
        self.client.create_stream(StreamName=name, ShardCount=shards)
        self._settle(name)

    def reshard(self, name: str, shards: int) -> None:
        """As the console does it, in one call; at most twice or half of what there is."""
        self.client.update_shard_count(
            StreamName=name, TargetShardCount=shards, ScalingType="UNIFORM_SCALING"
        )
        self._settle(name)

    def open_shards(self, name: str) -> list[str]:
        """By a list without a filter: those without an end."""
        return [
            s["ShardId"] for s in self.shards(name) if "EndingSequenceNumber" not in s["SequenceNumberRange"]
        ]

    def shards(self, name: str) -> list[dict[str, Any]]:
        answer = self.client.list_shards(StreamName=name)
        found = list(answer["Shards"])
        while "NextToken" in answer:
            answer = self.client.list_shards(NextToken=answer["NextToken"])
            found += answer["Shards"]
        return found

    def put_into_each(self, name: str, records: int = 1) -> None:
        """A record, or some, into each open shard."""
        for shard in self.shards(name):
            if "EndingSequenceNumber" in shard["SequenceNumberRange"]:
                continue
            for n in range(records):
                self.client.put_record(
                    StreamName=name,
                    Data=f"{shard['ShardId']} {n} {time.monotonic_ns()}".encode(),
                    PartitionKey="any",
                    ExplicitHashKey=shard["HashKeyRange"]["StartingHashKey"],
                )

    def _settle(self, name: str) -> None:
        def active() -> bool:
            told = self.client.describe_stream_summary(StreamName=name)["StreamDescriptionSummary"]
            return bool(told["StreamStatus"] == "ACTIVE")

        wait_until(active, f"stream {name} is ACTIVE")
