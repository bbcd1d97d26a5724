"""Processes whose parent is gone come to this one: they are waited for, and ended at the end.

As process 1 of a container this is so anyway; elsewhere the kernel is asked for it.
"""

import ctypes
import os
import signal
from contextlib import suppress
from typing import Final, NamedTuple

PR_SET_CHILD_SUBREAPER: Final = 36
ZOMBIE: Final = "Z"


class Process(NamedTuple):
    pid: int
    state: str
    group: int


def adopt() -> None:
    """From now on, orphans below this process are its own.  Twice is once."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap(command_pid: int) -> None:
    """Wait for every orphan that has ended; not for the command itself, whose code is wanted.

    What has our own group was started by a library in this process, which waits for it.
    """
    for process in _children():
        if process.state == ZOMBIE and process.pid != command_pid and process.group != os.getpgrp():
            with suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)


def end_all() -> None:
    """Kill all that is left below this process; the death of one may bring the next."""
    while left := [process for process in _children() if process.group != os.getpgrp()]:
        for process in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGKILL)
        for process in left:
            with suppress(ChildProcessError):
                os.waitpid(process.pid, 0)


def _children() -> list[Process]:
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        # Processes end while they are looked at.
        with suppress(OSError), open(f"/proc/{entry}/stat") as stat:
            # The name may hold blanks and brackets, so the fields are counted from behind it.
            state, parent, group, *_ = stat.read().rpartition(")")[2].split()
            if int(parent) == os.getpid():
                found.append(Process(int(entry), state, int(group)))
    return found
