"""What a run has left behind, read from the kernel and not from our own bookkeeping."""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

HANG_S = 600.0
"""Waiting longer is in vain.  Waiting is no measure of speed: a busy machine is slow, and not broken."""


def processes_naming(text: str) -> list[str]:
    """Every other process with the text in its arguments, environment or working folder."""
    return [f"{pid}: {_read(pid, 'cmdline').replace(chr(0), ' ').strip()}" for pid in pids_naming(text)]


def pids_naming(text: str) -> list[int]:
    return [
        pid
        for pid in (int(entry) for entry in os.listdir("/proc") if entry.isdigit())
        if pid != os.getpid() and text in _read(pid, "cmdline") + _read(pid, "environ") + _folder(pid)
    ]


def wait_until(holds: Callable[[], bool], what: str, *, timeout_s: float = HANG_S) -> None:
    """Return as soon as it holds; fail, saying what was waited for, when it does not."""
    deadline_s = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline_s, f"not within {timeout_s:.0f} s: {what}"
        time.sleep(0.05)


def _read(pid: int, name: str) -> str:
    # Processes end while they are looked at.
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace")
    return ""


def _folder(pid: int) -> str:
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/cwd")
    return ""
