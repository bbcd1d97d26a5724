"""The watchdog as the agent sees it: started, seen to count, and started again if it does not.

The stop itself is also made here: an agent whose watchdog has died kills what is protected by itself.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from holdfast.agent import watchdog
from holdfast.agent.page import Page, boottime_s

AGAIN_S: Final = 1.5


class Guard:
    def __init__(self, page: Page, protect: str, *, own: bool) -> None:
        self.page, self.protect, self.own = page, protect, own
        self.process: subprocess.Popen[bytes] | None = None
        self.started_s = float("-inf")

    def why_not(self) -> str:
        """Empty while the watchdog counts and can kill; else why no lease may be asked for."""
        return self.page.why_not_watched(self.protect)

    def tend(self) -> None:
        """See that one counts, if it is ours to start.  Twice is once."""
        if not self.own or boottime_s() - self.started_s < AGAIN_S:
            return
        why = self.page.why_not_watched(self.protect)
        if not why or "may not kill" in why:
            return
        if self.process is not None and self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)  # it hangs, or protects what an earlier agent was told
            self.process.wait()
        self.started_s = boottime_s()
        script = str(Path(watchdog.__file__).resolve())
        argv = ["--page", str(self.page.path.resolve()), "--protect", self.protect, "--with-agent"]
        log = self._log()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", script, *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
            cwd="/",
        )
        if log >= 0:
            os.close(log)

    def _log(self) -> int:
        """Not the agent's own: the watchdog outlives it, and would keep that open."""
        try:
            return os.open(self.page.path.with_name("watchdog.log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        except OSError:
            return subprocess.DEVNULL

    def end(self) -> None:
        """Nothing is served, and the agent ends: so does its watchdog.  Twice is once."""
        if self.own and not self.page.armed_s and self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def stop_protected(self, stopped: Callable[[], None]) -> None:
        """Kill all that is protected, now and whenever it appears, until it is disarmed.  Twice is once."""
        self.page.arm(1e-9, int(self.page.words[watchdog.EPOCH]))
        threading.Thread(target=self._stop, args=(stopped,), daemon=True, name="stop").start()

    def _stop(self, stopped: Callable[[], None]) -> None:
        protected = watchdog.Protected(self.protect)
        while protected.find() or protected.unseen:
            protected.kill()
            time.sleep(0.02)
        stopped()
