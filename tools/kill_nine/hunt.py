"""The parent: starts the workers, listens to them, kills them, starts them again."""

import ctypes
import os
import selectors
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tools.kill_nine.judge import Acknowledged, judge
from tools.kill_nine.worker import work
from tools.parts.keeper import PR_SET_PDEATHSIG, prepare_child

APART_MAX_S: Final = 0.04
INTO_COMMIT_MAX_S: Final = 0.002
INTO_COMMIT_SHARE: Final = 0.5
ALL_AT_ONCE_SHARE: Final = 1 / 20
PATIENCE_S: Final = 300.0
PIECE_BYTES: Final = 1 << 16


class Stuck(Exception):
    """Nothing was acknowledged for too long, or a worker ended by itself."""


@dataclass
class Life:
    """One worker process, as its reports tell of it."""

    name: str
    pid: int
    pipe: int
    begun: str | None = None
    """The commit that it is in."""
    reports: int = 0
    acknowledged: int = 0
    torn: bytes = b""

    def phase(self) -> str:
        if self.begun:
            return "inside"
        return "between" if self.reports else "starting"


@dataclass
class Hunt:
    """`seed` decides which worker is killed and when; what that meets is the machine's affair."""

    path: str
    names: list[str]
    seed: int
    lives: dict[str, Life] = field(default_factory=dict)
    acknowledged: list[Acknowledged] = field(default_factory=list)
    begun: set[str] = field(default_factory=set)
    cut_short: set[str] = field(default_factory=set)
    """Commits that a kill fell into."""
    kills: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    all_at_once: int = 0

    def __post_init__(self) -> None:
        self._random, self._births = Random(self.seed), 0
        self._selector = selectors.DefaultSelector()

    def run(self, kills: int) -> list[str]:
        """Hunt, let every worker finish, and judge; the problems that were found."""
        # The process that started this may be killed: then it follows, and its workers follow it.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        try:
            for name in self.names:
                self._start(name)
            while self.kills.total() < kills:
                self._kill_one(kills - self.kills.total())
            self._until_all_got_on()
            self._stop()
        except Stuck as stuck:
            return [str(stuck), *judge(self.path, self.acknowledged, self.begun)]
        finally:
            for life in list(self.lives.values()):
                self._end(life, signal.SIGKILL)
        return judge(self.path, self.acknowledged, self.begun)

    def _kill_one(self, left: int) -> None:
        """Wait until commits flow; then kill one, or now and then all."""
        before = len(self.acknowledged)
        self._listen_until(lambda: len(self.acknowledged) > before, "a commit after the last kill")
        self._listen(self._random.uniform(0, APART_MAX_S))
        victims = [self.lives[self._random.choice(self.names)]]
        if left >= len(self.names) and self._random.random() < ALL_AT_ONCE_SHARE:
            victims, self.all_at_once = list(self.lives.values()), self.all_at_once + 1
        elif self._random.random() < INTO_COMMIT_SHARE:
            self._until_it_begins(victims[0])
            time.sleep(self._random.uniform(0, INTO_COMMIT_MAX_S))
        for victim in victims:
            os.kill(victim.pid, signal.SIGKILL)
        for victim in victims:
            self._bury(victim)
            self._start(victim.name)

    def _until_it_begins(self, victim: Life) -> None:
        before = victim.reports
        self._listen_until(
            lambda: victim.reports > before and victim.begun is not None, f"a commit of {victim.name}"
        )

    def _bury(self, victim: Life) -> None:
        """Hear its last reports: only they say where it was struck."""
        status = self._end(victim, signal.SIGKILL)
        if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
            raise Stuck(f"{victim.name} had ended by itself, status {status}")
        self.kills[victim.phase()] += 1
        if victim.begun:
            self.cut_short.add(victim.begun)

    def _until_all_got_on(self) -> None:
        before = {name: life.acknowledged for name, life in self.lives.items()}
        self._listen_until(
            lambda: all(life.acknowledged > before[name] for name, life in self.lives.items()),
            "a commit of every worker after the last kill",
        )

    def _stop(self) -> None:
        for life in list(self.lives.values()):
            status = self._end(life, signal.SIGTERM)
            if status != 0:
                raise Stuck(f"{life.name} ended with status {status}")

    def _start(self, name: str) -> None:
        reading, writing = os.pipe()
        self._births += 1
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            self._be(name, writing)
        os.close(writing)
        os.set_blocking(reading, False)
        life = self.lives[name] = Life(name, pid, reading)
        self._selector.register(reading, selectors.EVENT_READ, life)

    def _be(self, name: str, pipe: int) -> None:
        """The child: never returns."""
        try:
            prepare_child()
            others = [each for each in self.names if each != name]
            work(name, others, self.path, pipe, f"{self.seed}-{self._births}")
            os._exit(0)
        except BaseException:
            traceback.print_exc(file=sys.stderr)
            os._exit(1)

    def _end(self, life: Life, number: signal.Signals) -> int:
        """Signal it, hear it out and reap it; its wait status."""
        del self.lives[life.name]
        os.kill(life.pid, number)  # not reaped yet, so the id is still its own
        self._selector.unregister(life.pipe)
        os.set_blocking(life.pipe, True)
        while piece := os.read(life.pipe, PIECE_BYTES):
            self._hear(life, piece)
        os.close(life.pipe)
        return os.waitpid(life.pid, 0)[1]

    def _listen_until(self, true: Callable[[], bool], what: str) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while not true():
            if time.monotonic() > deadline_s:
                raise Stuck(f"waited {PATIENCE_S:.0f} s for {what}")
            self._listen_once(0.1)

    def _listen(self, seconds: float) -> None:
        deadline_s = time.monotonic() + seconds
        while (left_s := deadline_s - time.monotonic()) > 0:
            self._listen_once(left_s)

    def _listen_once(self, timeout_s: float) -> None:
        for key, _ in self._selector.select(timeout_s):
            life: Life = key.data
            piece = os.read(life.pipe, PIECE_BYTES)
            if not piece:
                raise Stuck(f"{life.name} ended by itself")
            self._hear(life, piece)

    def _hear(self, life: Life, piece: bytes) -> None:
        *lines, life.torn = (life.torn + piece).split(b"\n")
        for line in lines:
            what, *about = line.decode().split()
            life.reports += 1
            self.outcomes[what] += 1
            life.begun = about[1] if what == "begin" else None
            if what == "begin":
                self.begun.add(about[1])
            elif what == "done":
                life.acknowledged += 1
                self.acknowledged.append((int(about[0]), about[1]))
