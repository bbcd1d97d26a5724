"""A KCL worker that a test has started, or has let another program start: what it said of its shards."""

import contextlib
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True)
class Worker:
    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    @classmethod
    @contextmanager
    def start(cls, argv: Sequence[str], environment: Mapping[str, str]) -> Iterator[Self]:
        process = subprocess.Popen(
            argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        worker = cls(process)
        listening = threading.Thread(target=worker._listen)
        listening.start()
        try:
            yield worker
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
            listening.join()

    @property
    def read(self) -> set[str]:
        """The shards out of which it has got a record."""
        return {_shard(line) for line in self.lines if line.startswith("records ")}

    @property
    def reading(self) -> set[str]:
        """The shards that it has begun."""
        return {_shard(line) for line in self.lines if line.startswith("reading ")}

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as said:
            for line in said:
                self.lines.append(line.rstrip("\n"))


def _shard(line: str) -> str:
    return line.partition("shard=")[2].split()[0]


def prepare_leases(dynamodb: Any, table: str, shards: Iterable[str]) -> None:
    """The lease table as a KCL makes it before it takes the first lease.

    On an empty table it waits for up to half a minute, so that of many workers one makes the rows.
    """
    dynamodb.create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "leaseKey", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "leaseKey", "KeyType": "HASH"}],
    )
    for shard in shards:
        dynamodb.put_item(
            TableName=table,
            Item={
                "leaseKey": {"S": shard},
                "leaseCounter": {"N": "0"},
                "checkpoint": {"S": "TRIM_HORIZON"},
                "checkpointSubSequenceNumber": {"N": "0"},
                "ownerSwitchesSinceCheckpoint": {"N": "0"},
            },
        )
