"""Heartbeats a CPU-second of the server, beside the same route without a database.

Both sides are one server process, asked over the same connections with the same requests: tokens, rates,
decoding, goal and answer are the same.  Ours stores every report and renews every lease durably; the other
side grants in memory.  Counted is the CPU time of the server's process with all its threads, so that what
else the machine does matters little.  The database's own process, where it has one, is not counted.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Final

from bench import Row
from bench.grounds.beating import NONE
from bench.renewals import REPORT, started

RATIO_MAX: Final = 2.0
"""At least half as many."""
INSTANCES, BEATS, ROUNDS, WARM = 250, 12, 5, 1
TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")


def run() -> list[Row]:
    return [compare(name) for name in ("sqlite", "postgresql", "mariadb")]


def compare(name: str) -> Row:
    with started(name) as url, serving(url) as ours, serving(NONE) as bare:
        for side in (ours, bare):
            side.warm()
        rounds = [(ours.beat(BEATS), bare.beat(BEATS)) for _ in range(ROUNDS)]
    ours_s, bare_s = (median(side) for side in zip(*rounds, strict=True))
    return Row(
        f"heartbeats a CPU-second, {name}",
        ours_per_s=1 / ours_s,
        beside="without a database",
        beside_per_s=1 / bare_s,
        ratio=median(one / other for one, other in rounds),
        ratio_max=RATIO_MAX,
    )


class Side:
    """One server, and a connection for each instance."""

    def __init__(self, process: "subprocess.Popen[str]", port: int, tokens: list[str]) -> None:
        self._process, self._port = process, port
        self._requests = [_request(n, token) for n, token in enumerate(tokens)]

    def warm(self) -> None:
        """One after the other: each token and each group is looked up, and kept from then on."""

        async def in_turn() -> None:
            for request in self._requests:
                await self._one(request, WARM)

        asyncio.run(in_turn())

    def beat(self, times: int) -> float:
        """CPU-seconds of the server for each heartbeat; all instances beat at once, so many times."""
        before_s = self._spent_s()
        asyncio.run(self._all(times))
        return (self._spent_s() - before_s) / (times * len(self._requests))

    def _spent_s(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK_S

    async def _all(self, times: int) -> None:
        await asyncio.gather(*(self._one(request, times) for request in self._requests))

    async def _one(self, request: bytes, times: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        left = times
        while left:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            answer = json.loads(await reader.readexactly(size))
            if answer["code"] == "UNAVAILABLE":  # a busy machine: asked again, and its time counts
                continue
            assert answer["data"]["lease_s"] > 0, answer
            left -= 1
        writer.close()


def _request(n: int, token: str) -> bytes:
    report = {name: value for name, value in asdict(REPORT).items() if value not in (None, "")}
    body = json.dumps(
        {"instance_id": f"i-{n}", "session": "s", "epoch": 1, "report": {**report, "watchdog_ok": True}}
    ).encode()
    head = (
        f"POST /api/agents/a-{n}/heartbeat HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@contextmanager
def serving(database: str) -> Iterator[Side]:
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        argv = [sys.executable, "-m", "bench.grounds.beating", database, folder, str(INSTANCES)]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline())
            yield Side(process, port, (Path(folder) / "tokens").read_text().split())
        finally:
            process.terminate()
            process.wait(timeout=30)
            process.stdout.close()
