"""Signals are waited for, and never interrupt: each is passed on in the loop's own time.

They are blocked before any thread starts, so that no thread but the loop's gets one.
"""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

ENDING: Final = frozenset({signal.SIGTERM, signal.SIGINT})
"""After one of these the command has its grace, and is killed."""
PASSED_ON: Final = ENDING | {
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
    signal.SIGCONT,
}
HEARD: Final = PASSED_ON | {signal.SIGCHLD}
PERIOD_S: Final = 0.05


@contextmanager
def blocked() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
    try:
        yield
    finally:
        while wait_for(0.0) is not None:
            pass  # what came too late is not delivered afterwards
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def wait_for(timeout_s: float) -> signal.Signals | None:
    """The next signal, a moment after it comes; None if none did.

    Asked for again and again without waiting: a `sigtimedwait` that waits, and is stopped and continued for
    longer than its time, returns whatever was in memory for a signal.
    """
    deadline_s = time.monotonic() + timeout_s
    while (told := signal.sigtimedwait(HEARD, 0)) is None:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            return None
        time.sleep(min(left_s, PERIOD_S))
    return signal.Signals(told.si_signo)
