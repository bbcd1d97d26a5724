"""A command, run without a shell and without a terminal, until it ends or its time is over."""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Finished:
    code: int | None
    """None: it did not end in time, and was killed."""
    output: bytes = field(repr=False)
    complaint: str = field(repr=False)
    """What it wrote to stderr."""


def find(command: str, home: Path, environ: Mapping[str, str]) -> str | None:
    """The program: with a slash in its name it begins at `home`, without one it is looked up in PATH."""
    named = str(home / Path(command).expanduser()) if os.sep in command else command
    return shutil.which(named, path=environ.get("PATH", os.defpath))


def run(arguments: Sequence[str], environ: Mapping[str, str], timeout_s: float) -> Finished:
    """Raises OSError if it cannot be started.

    It gets a session of its own: so it can ask no terminal, and what it started is killed with it.
    """
    process = subprocess.Popen(
        arguments,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, complaint = process.communicate(timeout=timeout_s)
        return Finished(process.returncode, output, _text(complaint))
    except subprocess.TimeoutExpired as late:
        return Finished(None, b"", _text(late.stderr))
    finally:
        _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _text(written: bytes | None) -> str:
    return (written or b"").decode(errors="replace").strip()
