"""`reshard N`: another number of shards for the stream, as its owner would do it."""

import os
import sys
import time
from typing import Any

import boto3

WAIT_S = 60.0


def make(endpoint: str, stream: str, shards: int) -> None:
    client = _client(endpoint)
    client.create_stream(StreamName=stream, ShardCount=shards)
    _settled(client, stream)
    client.close()


def reshard(endpoint: str, stream: str, shards: int) -> list[int]:
    """The numbers on the way: one call may at most double or halve it."""
    client = _client(endpoint)
    steps = []
    while (now := _settled(client, stream)) != shards:
        steps.append(max(-(-now // 2), min(2 * now, shards)))
        client.update_shard_count(
            StreamName=stream, TargetShardCount=steps[-1], ScalingType="UNIFORM_SCALING"
        )
    client.close()
    return steps


def _settled(client: Any, stream: str) -> int:
    """The number of open shards, once the stream is active."""
    deadline_s = time.monotonic() + WAIT_S
    while time.monotonic() < deadline_s:
        told = client.describe_stream_summary(StreamName=stream)["StreamDescriptionSummary"]
        if told["StreamStatus"] == "ACTIVE":
            return int(told["OpenShardCount"])
        time.sleep(0.05)
    raise TimeoutError(f"{stream} is not ACTIVE after {WAIT_S:.0f} s")


def _client(endpoint: str) -> Any:
    keys: dict[str, Any] = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
    return boto3.client("kinesis", endpoint_url=endpoint, region_name="us-east-1", **keys)


def main(words: list[str]) -> int:
    if len(words) != 1 or not words[0].isdecimal() or int(words[0]) < 1:
        print("usage: reshard NUMBER_OF_SHARDS, such as `reshard 60`", file=sys.stderr)
        return 2
    stream = os.environ["STREAM_NAME"]
    steps = reshard(os.environ["AWS_ENDPOINT_URL_KINESIS"], stream, int(words[0]))
    way = " → ".join(map(str, steps)) if steps else "as before"
    print(f"{stream} has {words[0]} open shards ({way})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
