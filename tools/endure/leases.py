"""`python -m tools.endure.leases`: stream workers killed, stopped, started, resharded, for as long as wanted.

After each blow all living workers must have the right cap within the time that one may be dead unnoticed, and
two seconds.  Where they have not, the campaign ends with the table as it stands; the seed replays the blows.
"""

import argparse
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import boto3

from tools.parts.catalog.kinesis_local import PART as KINESIS
from tools.parts.catalog.ministack import PART as MINISTACK
from tools.parts.part import Absent
from tools.parts.stream.reshard import make, reshard

STREAM, APP = "endured", "shop"
EXPECTED, SHARDS_MAX = 6, 96
TTL_S, GRACE_S = 4.0, 2.0
SLACK_S = 6.0
"""Beside TTL and grace: a process takes a while to start, and a busy machine more."""
KEYS: dict[str, Any] = {
    "region_name": "us-east-1",
    "aws_access_key_id": "any",
    "aws_secret_access_key": "any",
}


class Late(Exception):
    """The cap was not right in time; the message has the table."""


@dataclass
class Campaign:
    kinesis: str
    dynamodb: str
    random: Random
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    shards: int = 12
    begun: int = 0
    blows: int = 0
    worst_s: float = 0.0

    def __post_init__(self) -> None:
        self.client: Any = boto3.client("dynamodb", endpoint_url=self.dynamodb, **KEYS)
        make(self.kinesis, STREAM, self.shards)

    def start(self) -> str:
        """Sometimes under the id of one that died, whose row still stands."""
        self.begun += 1
        name = f"worker-{self.random.randint(1, 9)}"
        while name in self.workers:
            name = f"worker-{self.random.randint(1, 9)}"
        argv = [sys.executable, "-m", "holdfast.cli", "leases", "exec", "--", "sleep", "1000000"]
        quiet = subprocess.DEVNULL
        self.workers[name] = subprocess.Popen(argv, env=self._environ(name), stdout=quiet, stderr=quiet)
        return f"started {name}"

    def kill(self) -> str:
        name = self._any()
        process = self.workers.pop(name)
        process.kill()
        process.wait()
        return f"killed {name}"

    def end(self) -> str:
        name = self._any()
        process = self.workers.pop(name)
        process.terminate()
        process.wait()
        return f"ended {name}"

    def pause(self) -> str:
        """Past the time after which it is dead, and back."""
        name = self._any()
        self.workers[name].send_signal(signal.SIGSTOP)
        time.sleep(TTL_S + 1)
        self.workers[name].send_signal(signal.SIGCONT)
        return f"paused {name}"

    def reshard(self) -> str:
        low, high = max(2, math.ceil(self.shards / 2)), min(SHARDS_MAX, 2 * self.shards)
        self.shards = self.random.randint(low, high)
        reshard(self.kinesis, STREAM, self.shards)
        return f"resharded to {self.shards}"

    def blow(self) -> str:
        """One blow, and the wait until all is right again."""
        self.blows += 1
        choices = [self.start] if len(self.workers) < EXPECTED else []
        choices += [self.kill, self.end, self.pause] if len(self.workers) > 1 else []
        done = self.random.choice([*choices, self.reshard])()
        took_s = self._wait_until_right()
        self.worst_s = max(self.worst_s, took_s)
        return f"{done}: cap {self._right()} after {took_s:.1f} s"

    def _right(self) -> int:
        return min(80, math.ceil(self.shards / max(1, len(self.workers))))

    def _wait_until_right(self) -> float:
        begun_s = time.monotonic()
        while True:
            rows, right = self._rows(), str(self._right())
            names = [f"{APP}_coordinator", *self.workers]
            if all(rows.get(name, {}).get("max_leases_per_worker") == right for name in names):
                return time.monotonic() - begun_s
            gone = [name for name, process in self.workers.items() if process.poll() is not None]
            if gone or time.monotonic() - begun_s > TTL_S + GRACE_S + SLACK_S:
                raise Late(
                    f"{self.shards} shards, {sorted(self.workers)}, ended by themselves: {gone}: {rows}"
                )
            time.sleep(0.1)

    def _rows(self) -> dict[str, dict[str, Any]]:
        try:
            items = self.client.scan(TableName=f"{STREAM}_meta", ConsistentRead=True)["Items"]
        except self.client.exceptions.ResourceNotFoundException:
            return {}
        return {row["worker_id"]["S"]: {k: next(iter(v.values())) for k, v in row.items()} for row in items}

    def _any(self) -> str:
        return self.random.choice(sorted(self.workers))

    def _environ(self, worker_id: str) -> dict[str, str]:
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
            **{"AWS_ENDPOINT_URL_KINESIS": self.kinesis, "AWS_ENDPOINT_URL_DYNAMODB": self.dynamodb},
            **{"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_REGION": "us-east-1"},
            **{"STREAM_NAME": STREAM, "APP_NAME": APP, "WORKER_ID": worker_id, "HEALTH_PORT": "0"},
            **{"KDS_WORKER_COUNT": str(EXPECTED), "JOIN_GRACE_SEC": "1", "RESTART_SETTLE_SEC": "1"},
            **{"HEARTBEAT_SEC": "0.5", "MEMBER_TTL_SEC": str(TTL_S)},
            **{"COUNT_SEC": "0.5", "FEWER_SHARDS_SEC": "1"},
        }

    def stop(self) -> None:
        for process in self.workers.values():
            process.terminate()
        for process in self.workers.values():
            process.wait()
        self.client.close()


@contextmanager
def campaign(seed: int) -> Iterator[Campaign]:
    with ExitStack() as closing:
        kinesis = KINESIS.start()
        closing.callback(kinesis.stop)
        ministack = MINISTACK.start()
        closing.callback(ministack.stop)
        made = Campaign(kinesis.endpoint, ministack.endpoint, Random(seed))
        closing.callback(made.stop)
        yield made


def main() -> int:
    parser = argparse.ArgumentParser(prog="make endure-leases", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="draws the blows")
    asked = parser.parse_args()
    print(f"seed {asked.seed}, {asked.minutes:g} min", flush=True)
    until_s = time.monotonic() + 60 * asked.minutes
    try:
        with campaign(asked.seed) as ground:
            ground.start()
            while time.monotonic() < until_s:
                print(f"{time.strftime('%X')} {ground.blow()}", flush=True)
            print(f"{ground.blows} blows, each made good; the slowest after {ground.worst_s:.1f} s")
    except (Absent, Late) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
