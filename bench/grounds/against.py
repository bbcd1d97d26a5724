"""The function of this tree beside that of an older commit: a cold start and a warm idle tick, in one run.

Both zips are built here, each from its own sources, and called by the one name that both have: the
handler.  Each side has servers of its own, which see the same machines, nodes and pods.
"""

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Final

from bench import Row
from bench.grounds import world
from bench.grounds.zipped import Zipped, unpacked

RATIO_MAX: Final = 1.1
"""No slower, on a machine that is never quite at rest."""
COLD_ROUNDS: Final = 9
WARM_TICKS: Final = 5
NODES, PODS = 1_000, 30_000

CALL: Final = """
from holdfast.lambda_handler import handler

class Context:
    aws_request_id = "bench"
    def get_remaining_time_in_millis(self):
        return 300_000

def tick():
    answer = handler({"source": "aws.events", "detail-type": "Scheduled Event"}, Context())
    assert answer["outcome"] == "idle", answer
"""
COLD: Final = f"{CALL}\ntick()\nresult = time.process_time() - begun_s\n"
WARM: Final = f"""{CALL}
tick()
tick()
begun_s = time.process_time()
for _ in range({WARM_TICKS}):
    tick()
result = (time.process_time() - begun_s) / {WARM_TICKS}
"""
BUILD: Final = "from pathlib import Path; from tools.package_lambda import build; build(Path({path!r}))"

Sides = tuple[tuple[Zipped, Mapping[str, str]], tuple[Zipped, Mapping[str, str]]]


def run(commit: str) -> list[Row]:
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        now, then = unpacked(folder), _unpacked_of(commit, folder, stack)
        cold = _compared(stack, folder / "cold", (now, then), 3, 30, COLD, COLD_ROUNDS)
        warm = _compared(stack, folder / "warm", (now, then), NODES, PODS, WARM, 3)
    return [
        _row("cold start: handler and idle tick", commit, cold),
        _row(f"idle tick, {NODES:,} nodes, {PODS:,} pods", commit, warm),
    ]


def _unpacked_of(commit: str, folder: Path, stack: ExitStack) -> Zipped:
    sources = stack.enter_context(_checked_out(commit, folder / "sources"))
    zipped, task = folder / "then.zip", folder / "then"
    env = {"PYTHONPATH": f"{sources / 'src'}:{sources}", "PATH": "/usr/bin:/bin"}
    code = BUILD.format(path=str(zipped))
    subprocess.run([sys.executable, "-c", code], cwd=sources, env=env, check=True, capture_output=True)
    with zipfile.ZipFile(zipped) as archive:
        archive.extractall(task)
    return Zipped(zipped.stat().st_size, (task, folder / "runtime"))


@contextmanager
def _checked_out(commit: str, folder: Path) -> Iterator[Path]:
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(folder), commit], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(folder)], check=True)


def _compared(
    stack: ExitStack,
    folder: Path,
    sides: tuple[Zipped, Zipped],
    nodes: int,
    pods: int,
    script: str,
    rounds: int,
) -> list[tuple[float, float]]:
    """CPU seconds of both sides, turn by turn: a machine that slows down slows both."""
    worlds = []
    for n, _ in enumerate(sides):
        own = folder / str(n)
        own.mkdir(parents=True)
        worlds.append(stack.enter_context(world.started(nodes, pods, own)))
    for side, environ in zip(sides, worlds, strict=True):
        side.run(script, environ)  # writes the record, and whatever is not compiled yet
    measured = []
    for n in range(rounds):
        order = (0, 1) if n % 2 else (1, 0)
        taken = {side: sides[side].run(script, worlds[side]) for side in order}
        measured.append((taken[0], taken[1]))
    return measured


def _row(what: str, commit: str, measured: list[tuple[float, float]]) -> Row:
    row = Row(what, 0.0, f"the same at {commit[:7]}", 0.0, 1.0, RATIO_MAX)
    return replace(
        row,
        ours_per_s=1 / median(now for now, _ in measured),
        beside_per_s=1 / median(then for _, then in measured),
        ratio=median(now / then for now, then in measured),
    )
