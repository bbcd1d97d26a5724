"""A stream and a DynamoDB for benchmarks of the leases, and processes that are measured on them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import boto3

from tools.parts.catalog.kinesis_local import PART as KINESIS
from tools.parts.catalog.ministack import PART as MINISTACK
from tools.parts.stream.reshard import make

KEYS: dict[str, Any] = {
    "region_name": "us-east-1",
    "aws_access_key_id": "any",
    "aws_secret_access_key": "any",
}
STREAM, APP = "orders", "shop"
FRAME = """
import time
begun_s = time.process_time()
{script}
import json, sys
print(json.dumps(result), file=sys.stderr)
"""


@dataclass(frozen=True)
class Ground:
    kinesis: str
    dynamodb: str

    def environment(self, worker_id: str = "worker-1", **more: str) -> dict[str, str]:
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
            "AWS_ENDPOINT_URL_KINESIS": self.kinesis,
            "AWS_ENDPOINT_URL_DYNAMODB": self.dynamodb,
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "STREAM_NAME": STREAM,
            "APP_NAME": APP,
            "WORKER_ID": worker_id,
            "KDS_WORKER_COUNT": "3",
            "HEALTH_PORT": "0",
            **more,
        }

    def client(self) -> Any:
        return boto3.client("dynamodb", endpoint_url=self.dynamodb, **KEYS)


@contextmanager
def ground(shards: int) -> Iterator[Ground]:
    with ExitStack() as closing:
        kinesis, ministack = KINESIS.start(), None
        closing.callback(kinesis.stop)
        ministack = MINISTACK.start()
        closing.callback(ministack.stop)
        make(kinesis.endpoint, STREAM, shards)
        yield Ground(kinesis.endpoint, ministack.endpoint)


def measured(script: str, environ: Mapping[str, str]) -> float:
    """What the script calls its result, in a fresh process."""
    argv = [sys.executable, "-c", FRAME.format(script=script)]
    done = subprocess.run(argv, env=dict(environ), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return float(json.loads(done.stderr.splitlines()[-1]))
