"""What `make cluster` prints works as printed, and is gone after Ctrl-C."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.real.presence import present
from tests.real.traces import HANG_S, wait_until
from tools.parts.catalog.ec2 import PART as EC2
from tools.parts.catalog.kubectl import PART as KUBECTL
from tools.parts.catalog.kubernetes import PART as KUBERNETES
from tools.parts.catalog.kwok import PART as KWOK
from tools.parts.play.playground import Taken, claim


def test_the_printed_commands_bring_workers_and_pods_and_ctrl_c_removes_everything(tmp_path: Path) -> None:
    for part in (KUBERNETES, KWOK, KUBECTL, EC2):
        present(part)
    folder = tmp_path / "ground"
    argv = [sys.executable, "-m", "tools.parts.play", "--folder", str(folder)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as play:
        assert play.stdout is not None
        try:
            printed = [line.strip() for line in _until(play.stdout, "Ctrl-C")]
            enter, run, *_ = _after(printed, "cd ")
            look, *give = printed[printed.index("kubectl get nodes") :][:3]
            kubeconfig = Path(next(line.split()[1] for line in printed if line.startswith("kubeconfig")))
            with _started(f"{enter}; exec {run}"):
                wait_until(lambda: _said(f"{enter}; {look}").count(" Ready ") == 2, "two are Ready")
                for line in give:
                    assert _said(f"{enter}; {line}"), line
                wait_until(
                    lambda: _said(f"{enter}; kubectl get pods").count(" Running ") == 14,
                    "all pods run",
                )
                status = json.loads(_said(f"{enter}; holdfast autoscaler status --json"))
            assert len(status["workers"]) == 4
            assert " has its spot notice: EC2 takes it back in 120 s" in _said(f"{enter}; chaos notice")
        finally:
            play.send_signal(signal.SIGINT)
            last_words = play.stdout.read()
    assert play.returncode == 0
    assert "everything is stopped and removed" in last_words
    assert not kubeconfig.parent.exists()
    assert not folder.exists()


def test_a_folder_belongs_to_one_cluster_at_a_time_and_is_taken_over_from_a_dead_one(tmp_path: Path) -> None:
    folder = tmp_path / "ground"
    folder.mkdir()
    (folder / "state.db").write_text("of a cluster that was killed")
    with claim(folder) as mine:
        assert list(mine.iterdir()) == []
        with pytest.raises(Taken, match="--folder"), claim(folder):
            pass
    assert list(tmp_path.iterdir()) == []


def _until(lines: IO[str], word: str) -> Iterator[str]:
    for line in lines:
        if word in line:
            return
        yield line


def _after(printed: list[str], start: str) -> list[str]:
    """The first line that begins so, and those behind it."""
    return printed[next(n for n, line in enumerate(printed) if line.startswith(start)) :]


def _said(script: str) -> str:
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=HANG_S).stdout


@contextmanager
def _started(script: str) -> Iterator[None]:
    """A command of the second terminal, for as long as the block lasts."""
    with subprocess.Popen(["sh", "-c", script], stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()
