"""A supervisor that a test has started, and what it can see of it from outside."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.real.traces import processes_naming

ROOT = Path(__file__).parents[3]
HANG_S = 60.0


@dataclass(frozen=True)
class Supervised:
    process: subprocess.Popen[str]
    folder: Path

    def order(self, **says: Any) -> None:
        """Another order: in its place all at once, for it is read all the time."""
        fresh = self.folder / "orders.new"
        fresh.write_text(json.dumps(says))
        fresh.rename(self.folder / "orders.json")

    def wait_for(self, name: str) -> str:
        """The content of a file of the command's, once it is there and has some."""
        path = self.folder / name
        until(lambda: path.exists() and path.read_text() != "", f"{name} is written")
        return path.read_text()

    def starts(self) -> list[int]:
        path = self.folder / "orders.started"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def send(self, which: signal.Signals) -> None:
        self.process.send_signal(which)

    def ends(self) -> int:
        return self.process.wait(HANG_S)

    def left_behind(self) -> list[str]:
        return processes_naming(str(self.folder))


def _hears_hang_up() -> None:
    """The tests may run under nohup, and what is ignored at the start stays ignored in a shell."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@contextmanager
def supervised(
    folder: Path, *command: str, grace_s: float = 10, port: int = 0, **says: Any
) -> Iterator[Supervised]:
    """`sh` runs in the folder, and so does what it starts."""
    (folder / "orders.json").write_text(json.dumps(says or {"first": 7}))
    argv = [sys.executable, "-m", "tests.stream.supervise.harness"]
    process = subprocess.Popen(
        [*argv, str(folder / "orders.json"), str(grace_s), str(port), *command],
        cwd=ROOT,
        env={**os.environ, "FOLDER": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_hears_hang_up,
    )
    try:
        yield Supervised(process, folder)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(HANG_S)
            except subprocess.TimeoutExpired:
                process.kill()
        process.communicate()


def until(holds: Callable[[], bool], what: str) -> None:
    deadline_s = time.monotonic() + HANG_S
    while not holds():
        assert time.monotonic() < deadline_s, f"not within {HANG_S:.0f} s: {what}"
        time.sleep(0.02)


def status(url: str) -> int:
    """0: no answer at all."""
    try:
        with urllib.request.urlopen(url, timeout=HANG_S) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except OSError:
        return 0
