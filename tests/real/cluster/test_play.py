"""What `make cluster` prints works as printed, and is gone after Ctrl-C."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.real.presence import present
from tools.parts.catalog.kubectl import PART as KUBECTL


@pytest.mark.usefixtures("installed")
def test_the_printed_commands_add_a_node_and_ctrl_c_removes_everything() -> None:
    present(KUBECTL)
    argv = [sys.executable, "-m", "tools.parts.play"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as play:
        assert play.stdout is not None
        try:
            printed = [line.strip() for line in _until(play.stdout, "Ctrl-C")]
            export, add, look = _after(printed, "export KUBECONFIG")
            kubeconfig = Path(export.partition("=")[2])
            until_ready = look.replace("get nodes --watch", "wait node/worker-1 --for=condition=Ready")
            script = "\n".join(["set -e", export, add, f"{until_ready} --timeout=30s"])
            done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stderr
            assert json.loads(kubeconfig.read_text())["kind"] == "Config"
        finally:
            play.send_signal(signal.SIGINT)
            last_words = play.stdout.read()
    assert play.returncode == 0
    assert "everything is stopped and removed" in last_words
    assert not kubeconfig.parent.exists()


def _until(lines: IO[str], word: str) -> Iterator[str]:
    for line in lines:
        if word in line:
            return
        yield line


def _after(printed: list[str], start: str) -> list[str]:
    """That line and the two behind it."""
    at = next(n for n, line in enumerate(printed) if line.startswith(start))
    return printed[at : at + 3]
