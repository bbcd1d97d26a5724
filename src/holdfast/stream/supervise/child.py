"""One command in a process group of its own: started, signalled, ended, and its exit code kept."""

import ctypes
import errno
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Self

from holdfast.kernel import Invalid

PLACEHOLDER: Final = "{max_leases}"
VARIABLE: Final = "HOLDFAST_MAX_LEASES"
PR_SET_PDEATHSIG: Final = 1
WHY: Final[Mapping[int, str]] = {
    errno.ENOENT: "there is no such program, also not on PATH: check its name after `--`",
    errno.EACCES: "it is not executable: chmod +x, or name its interpreter before it",
    errno.ENOEXEC: "it is no program: name its interpreter before it",
}


@dataclass(frozen=True)
class Child:
    """A started command.  Its group has its own id, so that a signal reaches all that it starts."""

    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, command: Sequence[str], max_leases: int, environ: Mapping[str, str]) -> Self:
        """With the number filled in; 0: there is none.  Raises Invalid if it cannot be started."""
        argv = [word.replace(PLACEHOLDER, str(max_leases)) for word in command]
        told = {VARIABLE: str(max_leases)} if max_leases else {}
        try:
            process = subprocess.Popen(
                argv, env={**environ, **told}, process_group=0, preexec_fn=_prepare(os.getpid())
            )
        except OSError as error:
            why = WHY.get(error.errno or 0, error.strerror or "it cannot be started")
            raise Invalid(f"command {argv[0]!r}: {why}") from error
        return cls(process)

    @property
    def pid(self) -> int:
        return self.process.pid

    def poll(self) -> int | None:
        """How it ended, as a shell says it: 128 and more for a signal.  None: it runs."""
        code = self.process.poll()
        return code if code is None or code >= 0 else 128 - code

    def send(self, heard: signal.Signals) -> None:
        """To the whole group.  One that has ended hears nothing."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, heard)


def _prepare(parent: int) -> Callable[[], None]:
    """What the command's process does before it becomes the command.

    Should this process be killed, the kernel ends the command: else it would read on under the id of a
    worker that is dead, and beside its successor.  The library is loaded before: little may be done there.
    """
    prctl = ctypes.CDLL(None).prctl

    def prepare() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())  # what we wait for reaches the command at once
        if os.getppid() != parent:
            os._exit(128 + signal.SIGTERM)

    return prepare
