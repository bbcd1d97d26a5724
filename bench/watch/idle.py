"""A loop that watches 1,000 nodes and 30,000 pods while nothing happens: its CPU time and its memory.

Kubelets report as they do when nothing changes, every five minutes each; the loop turns every 30 seconds.
CPU time is a part of one core.  Memory is what the process takes beyond one that watches a single node,
beside what nodes and pods take that are decoded once.
"""

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Final

from bench import Row
from bench.grounds import world
from bench.grounds.decoded import resident_mb
from bench.idle_tick import NODES, PODS, write_lists
from tools.parts.ports import free_port

CPU_MAX: Final = 0.03
MEMORY_MAX: Final = 3.0
FOR_S: Final = 90.0
PATIENCE_S: Final = 300.0


def run() -> list[Row]:
    cpu, memory_mb = watched(NODES, PODS, FOR_S)
    _, alone_mb = watched(1, 0, 1.0)
    with tempfile.TemporaryDirectory() as name:
        write_lists(Path(name))
        argv = [sys.executable, "-m", "bench.grounds.decoded", name]
        decoded_mb = float(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)
    what = f"{NODES:,} nodes, {PODS:,} pods, watched"
    more_mb = memory_mb - alone_mb
    return [
        Row(f"{what}: idle", 100 * cpu, "of a core", 100 * CPU_MAX, cpu / CPU_MAX, 1.0, " %"),
        Row(f"{what}: memory", more_mb, "decoded once", decoded_mb, more_mb / decoded_mb, MEMORY_MAX, " MB"),
    ]


def watched(nodes: int, pods: int, for_s: float) -> tuple[float, float]:
    """The part of a core, and the megabytes, of a loop that watches such a cluster for so long."""
    with tempfile.TemporaryDirectory() as name, world.started(nodes, pods, Path(name)) as environ:
        port = free_port()
        program = Path(sys.executable).parent / "holdfast"
        argv = [str(program), "autoscaler", "run", "--watch", "--metrics-port", str(port)]
        env = {**os.environ, **environ, "MIN_WORKERS": "1"}  # below its floor a loop is not idle
        with Path(name, "log").open("wb") as log:
            loop = subprocess.Popen(argv, env=env, stderr=log, stdout=log, cwd=name)
        try:
            _wait(port, loop)
            time.sleep(10)  # the turns that a first list wakes
            before_s, began_s = cpu_s(loop.pid), time.monotonic()
            time.sleep(for_s)
            part = (cpu_s(loop.pid) - before_s) / (time.monotonic() - began_s)
            _check(port)
            return part, resident_mb(str(loop.pid))
        finally:
            loop.terminate()
            loop.wait(60)


def cpu_s(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _figures(port: int) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


def _wait(port: int, loop: subprocess.Popen[bytes]) -> None:
    """Until it is in step, and has turned without a failure."""
    until_s = time.monotonic() + PATIENCE_S
    while 'holdfast_watch_current{cluster="bench"} 1.0' not in (told := _figures(port)) or (
        'outcome="idle"' not in told
    ):
        if loop.poll() is not None or time.monotonic() > until_s:
            raise RuntimeError(f"the loop does not watch:\n{told}")
        time.sleep(0.5)


def _check(port: int) -> None:
    told = _figures(port)
    if 'outcome="busy"' in told or 'outcome="refused"' in told:
        raise RuntimeError(f"that was no idle loop:\n{told}")
