"""How much memory an agent and its watchdog take beside an interpreter that does nothing."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import Row
from tests.agent.machine import Machine, eventually
from tests.agent.wire_server import WireServer

BARE = ["-I", "-S", "-c", "import time; time.sleep(1000)"]
BEATS = 10
"""Heartbeats, checks and a long poll have been made by then: it takes no more later."""


def resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} has ended")


def run() -> list[Row]:
    server = WireServer()
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(Path(folder) / "i-1", server)
        bare = subprocess.Popen([sys.executable, *BARE])
        try:
            machine.serving()
            eventually(lambda: len(server.reports()) > BEATS)
            time.sleep(0.5)
            assert machine.agent is not None
            alone_mb = resident_mb(bare.pid)
            agent_mb, dog_mb = resident_mb(machine.agent.pid), resident_mb(machine.watchdog_pid())
        finally:
            machine.close()
            bare.kill()
            bare.wait()
            server.shutdown()
            server.server_close()
    return [
        Row(
            "memory of an agent that serves",
            agent_mb,
            "bare interpreter",
            alone_mb,
            agent_mb / alone_mb,
            4.0,
            " MB",
        ),
        Row("memory of its watchdog", dog_mb, "bare interpreter", alone_mb, dog_mb / alone_mb, 1.5, " MB"),
    ]
