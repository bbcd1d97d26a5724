"""Output that cannot be written: a reader that has left, a disk that is full."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")
"""Not every system has it."""
COMMANDS = (["--help"], ["sim", "--seed", "1", "--hours", "1", "--json"], ["autoscaler", "--help"])


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "holdfast.cli", *arguments]


@pytest.mark.parametrize("arguments", COMMANDS if FULL.exists() else COMMANDS[:0], ids=" ".join)
def test_a_full_disk_is_told_in_one_line(arguments: list[str]) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(command(*arguments), stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "error: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_reader_that_has_left_ends_the_command_silently(arguments: list[str]) -> None:
    running = subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    running.stdout.close()
    assert running.stderr is not None
    with running.stderr as errors:
        assert errors.read() == ""
    assert running.wait() == 1


def test_the_picture_loads_nothing_from_the_network(tmp_path: Path) -> None:
    picture = tmp_path / "up.svg"
    options = ["--picture", str(picture), "--for", "0.2", "--speed", "60", "--plain"]
    subprocess.run(command("up", *options), check=True, capture_output=True)
    drawn = picture.read_text()
    assert "<svg" in drawn
    assert not re.search(r"url\((?!#)|@import|src:", drawn)
