"""What a stream worker costs, beside what no program on boto3 can do without.

`leases cap`: settings read, shards and rows counted, the cap agreed on and told; in CPU time of a fresh
process from its first line on.  `leases exec`: its memory while its command runs.  Beside both: import
boto3 and make the two clients, without a call.
"""

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from bench import Row
from bench.grounds.stream import Ground, ground, measured

CPU_MAX, MEMORY_MAX = 1.3, 1.25
ROUNDS: Final = 7
"""Each is ours, bare, bare, ours: a machine that slows down slows both."""
SHARDS: Final = 30

CAP: Final = """
from holdfast.cli import main
main(["leases", "cap"], standalone_mode=False)
result = time.process_time() - begun_s
"""
BARE: Final = """
import boto3

for service in ("kinesis", "dynamodb"):
    boto3.client(service)
result = time.process_time() - begun_s
"""
BARE_PROCESS: Final = """
import boto3, time
clients = [boto3.client(service) for service in ("kinesis", "dynamodb")]
print("ready", flush=True)
time.sleep(600)
"""
BEATS: Final = 6


def run() -> list[Row]:
    with ground(SHARDS) as stands:
        return [_cpu(stands), _memory(stands)]


def _cpu(stands: Ground) -> Row:
    environ = stands.environment()
    for script in (CAP, CAP, BARE):
        measured(script, environ)  # makes the tables, and compiles whatever is not compiled yet
    rounds = [_round(environ) for _ in range(ROUNDS)]
    ours_s, bare_s = (sum(side) for side in zip(*rounds, strict=True))
    return Row(
        "leases cap, agreed and told",
        ours_per_s=2 * ROUNDS / ours_s,
        beside="boto3 and its two clients",
        beside_per_s=2 * ROUNDS / bare_s,
        ratio=median(one / other for one, other in rounds),
        ratio_max=CPU_MAX,
    )


def _round(environ: Mapping[str, str]) -> tuple[float, float]:
    ours_s = measured(CAP, environ)
    bare_s = measured(BARE, environ) + measured(BARE, environ)
    return ours_s + measured(CAP, environ), bare_s


def _memory(stands: Ground) -> Row:
    words = ["leases", "exec", "--", "sh", "-c", "echo ready; exec sleep 600"]
    environ = stands.environment(HEARTBEAT_SEC="0.2", MEMBER_TTL_SEC="5", COUNT_SEC="0.2")
    ours = _resident_mb([sys.executable, "-m", "holdfast.cli", *words], environ, settle_s=0.2 * BEATS)
    bare = _resident_mb([sys.executable, "-c", BARE_PROCESS], environ)
    return Row(
        "leases exec, resident",
        ours_per_s=ours,
        beside="boto3 and its two clients",
        beside_per_s=bare,
        ratio=ours / bare,
        ratio_max=MEMORY_MAX,
        unit=" MB",
    )


def _resident_mb(argv: Sequence[str], environ: Mapping[str, str], *, settle_s: float = 0.0) -> float:
    """Of the process itself, once what it runs has said that it is ready, and some beats later."""
    with subprocess.Popen(
        argv, env=dict(environ), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(settle_s)
            status = Path(f"/proc/{process.pid}/status").read_text()
        finally:
            process.terminate()
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1e3
