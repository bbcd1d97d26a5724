"""Run a command under a cap until one of them ends.

Rule 1: signals are passed on to the whole group; after SIGTERM or SIGINT it has its grace, then it is
        killed, and nothing below this process is left.
Rule 2: the command's exit code is this process's.
Rule 3: it is started anew only by order of the cap, which gives one when shards would stay unread and it is
        this worker's turn.
"""

import logging
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from holdfast.kernel import HoldfastError
from holdfast.stream.supervise import orphans, signals
from holdfast.stream.supervise.child import Child
from holdfast.stream.supervise.health import LINGER_S, Health

TICK_S: Final = 0.2
WRONG: Final = 1

_log = logging.getLogger("holdfast.leases")


class Orders(Protocol):
    """What a supervisor hears from the live cap, which moves on in a thread of its own."""

    def first(self) -> int | None:
        """What the command is told at its start; None as long as that is not known.  Repeatable."""
        ...

    def next(self) -> int | None:
        """What the command must be told anew; None: it runs on.  The same until `started`.  Repeatable."""
        ...

    def started(self, max_leases: int) -> None:
        """The command was started with this number.  Twice is once."""
        ...

    def problem(self) -> HoldfastError | None:
        """Why this worker must end; None: it need not.  Repeatable."""
        ...


@dataclass
class Supervisor:
    command: Sequence[str]
    orders: Orders
    grace_s: float
    health: Health = field(default_factory=Health)
    lingers: bool = False
    """Whether the endpoints are served, so that a last 503 is seen."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    prepare: Callable[[int], None] = lambda max_leases: None
    """Called with the number before each start: for a file that the command reads it from."""
    _child: Child | None = None
    _told_to_end_s: float | None = None
    _ended_by: signal.Signals = signal.SIGTERM
    _restart_with: int | None = None
    _killed: bool = False

    def run(self) -> int:
        """The exit code.  Signals must be blocked.  Raises Invalid if the command cannot be started."""
        orphans.adopt()
        try:
            return self._linger(self._loop())
        finally:
            if self._child is not None:
                self._child.send(signal.SIGKILL)
            orphans.end_all()

    def _loop(self) -> int:
        while True:
            heard = signals.wait_for(TICK_S)
            if heard is not None:
                self._hear(heard)
            code = self._turn()
            if code is not None:
                return code

    def _turn(self) -> int | None:
        """Look at the command and at the orders; the exit code if it is over."""
        child = self._child
        if child is None:
            return self._begin()
        code = child.poll()
        if code is not None:
            return self._ended(child, code)
        if self._told_to_end_s is not None:
            self._kill_late(child)
        elif problem := self.orders.problem():
            _log.error("%s", problem)
            self._end(child, signal.SIGTERM)
        elif (wanted := self.orders.next()) is not None:
            _log.info("restarting the command with max_leases=%d", wanted)
            self._restart_with = wanted
            self._end(child, signal.SIGTERM)
        return None

    def _begin(self) -> int | None:
        """Before the first start: the cap must be known."""
        if self._told_to_end_s is not None:
            return 128 + self._ended_by
        if problem := self.orders.problem():
            raise problem
        told = self.orders.first()
        if told is not None:
            self._start(told)
        return None

    def _start(self, told: int) -> None:
        self.prepare(told)
        self._child = Child.start(self.command, told, self.environ)
        self.orders.started(told)
        self.health.ready = True
        with_cap = f"with max_leases={told}" if told else "without a cap"
        _log.info("started %s %s as process %d", self.command[0], with_cap, self._child.pid)

    def _ended(self, child: Child, code: int) -> int | None:
        child.send(signal.SIGKILL)  # what is left of its group
        if self._restart_with is not None and not self.health.stopping:
            told, self._restart_with = self._restart_with, None
            self._told_to_end_s, self._killed = None, False
            self._start(told)
            return None
        if not self.health.stopping:
            _log.info("the command ended with code %d", code)
        return WRONG if self.orders.problem() is not None else code

    def _hear(self, heard: signal.Signals) -> None:
        child = self._child
        if heard is signal.SIGCHLD:
            orphans.reap(command_pid=child.pid if child else 0)
        elif heard in signals.ENDING:
            self.health.stopping, self._restart_with = True, None
            self._ended_by = heard
            self._end(child, heard)
        elif child is not None:
            child.send(heard)

    def _end(self, child: Child | None, how: signal.Signals) -> None:
        """The grace begins with the first signal; a second one is passed on all the same."""
        if child is not None:
            child.send(how)
        if self._told_to_end_s is None:
            self._told_to_end_s = time.monotonic()

    def _kill_late(self, child: Child) -> None:
        assert self._told_to_end_s is not None
        if not self._killed and time.monotonic() - self._told_to_end_s >= self.grace_s:
            self._killed = True
            _log.warning("the command did not end within %g s: it is killed", self.grace_s)
            child.send(signal.SIGKILL)

    def _linger(self, code: int) -> int:
        if self.health.stopping and self.lingers and self._told_to_end_s is not None:
            time.sleep(max(0.0, self._told_to_end_s + LINGER_S - time.monotonic()))
        return code
