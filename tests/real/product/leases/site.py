"""A stream, a DynamoDB, and `holdfast leases` in processes of their own."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.real.streams import Streams
from tests.real.traces import HANG_S, processes_naming
from tools.parts.catalog.kinesis_local import KinesisLocal

HOLDFAST = (sys.executable, "-m", "holdfast.cli", "leases")
QUICK = {
    "HEARTBEAT_SEC": "0.5",
    "MEMBER_TTL_SEC": "3",
    "COUNT_SEC": "0.5",
    "FEWER_SHARDS_SEC": "1",
    "RESTART_SETTLE_SEC": "1",
    "HEALTH_PORT": "0",
}
"""A tenth of what they are in earnest."""


@dataclass
class Site:
    """Where the workers of one test read, and where they agree."""

    kinesis: KinesisLocal
    streams: Streams
    dynamodb_endpoint: str
    keys: Mapping[str, str]
    tables: Any
    """A client of that DynamoDB."""
    stream: str = field(default_factory=lambda: f"stream-{uuid.uuid4().hex[:8]}")
    app: str = field(default_factory=lambda: f"app-{uuid.uuid4().hex[:8]}")

    @property
    def mark(self) -> str:
        return f"{self.stream}/{self.app}"

    def environment(self, worker_id: str, **more: str) -> dict[str, str]:
        """For a worker; the marks make its processes, and all they start, findable."""
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
            "AWS_ENDPOINT_URL_KINESIS": self.kinesis.endpoint,
            "AWS_ENDPOINT_URL_DYNAMODB": self.dynamodb_endpoint,
            "AWS_ACCESS_KEY_ID": self.keys["aws_access_key_id"],
            "AWS_SECRET_ACCESS_KEY": self.keys["aws_secret_access_key"],
            "AWS_REGION": "us-east-1",
            "STREAM_NAME": self.stream,
            "APP_NAME": self.app,
            "WORKER_ID": worker_id,
            "TEST_MARK": self.mark,
            **QUICK,
            **more,
        }

    def run(self, *words: str, worker_id: str = "worker-1", **more: str) -> subprocess.CompletedProcess[str]:
        """One command, to its end."""
        return subprocess.run(
            [*HOLDFAST, *words], env=self.environment(worker_id, **more), capture_output=True, text=True
        )

    def rows(self) -> dict[str, dict[str, Any]]:
        """The table of the agreement, by key, without DynamoDB's tags."""
        items = self.tables.scan(TableName=f"{self.stream}_meta", ConsistentRead=True)["Items"]
        return {
            row["worker_id"]["S"]: {name: next(iter(v.values())) for name, v in row.items()} for row in items
        }

    @property
    def agreed(self) -> dict[str, Any]:
        return self.rows()[f"{self.app}_coordinator"]

    def left_behind(self) -> list[str]:
        return processes_naming(f"TEST_MARK={self.mark}")


@dataclass
class Running:
    """A worker's process, and what it and its command have said so far."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    def shards(self, verb: str) -> set[str]:
        """Of the lines of a KCL: `records shard=… count=…`."""
        found = [line for line in self.lines if line.startswith(f"{verb} shard=")]
        return {line.partition("shard=")[2].split()[0] for line in found}

    def says(self, text: str) -> bool:
        return any(text in line for line in self.lines)

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(HANG_S)


@contextmanager
def started(argv: Sequence[str], environment: Mapping[str, str]) -> Iterator[Running]:
    process = subprocess.Popen(
        argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    running = Running(process)

    def listen() -> None:
        assert process.stdout is not None
        with process.stdout as said:
            for line in said:
                running.lines.append(line.rstrip("\n"))

    listening = threading.Thread(target=listen)
    listening.start()
    try:
        yield running
    finally:
        if process.poll() is None:
            process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
        process.kill()
        process.wait()
        listening.join()


def executing(
    site: Site, worker_id: str, *command: str, **more: str
) -> contextlib.AbstractContextManager[Running]:
    return started([*HOLDFAST, "exec", "--", *command], site.environment(worker_id, **more))
