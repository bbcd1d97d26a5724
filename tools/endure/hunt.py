"""When to kill: in every phase of the record, soon after it began or in the middle of it."""

import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.ports import ClusterStore
from holdfast.kernel import Busy, Unknown
from tools.endure.phase import Phase, phase_of
from tools.endure.shells import Shell

LOOK_EVERY_S = 0.01
LONGEST_S = {
    Phase.IDLE: 3.0,
    Phase.INTENDED: 0.4,
    Phase.JOINING: 4.0,
    Phase.DRAINING: 4.0,
    Phase.TERMINATING: 0.4,
    Phase.INTERRUPTED: 0.4,
    Phase.DYING: 0.2,
}
"""How far into a phase the first kill may come.  Some are over in a moment, unless a process dies in them."""
AGAIN_S = 3.5
"""How far into the same phase the next kill may come.  The successor may not even be awake by then."""
AWAKE = 0.5
"""Of those kills, so many wait until the successor has written something."""
AT_THE_CALL = (Phase.INTENDED, Phase.TERMINATING)
"""Here every other kill waits for the call to the cloud: done, and not yet noted."""


@dataclass
class Hunt:
    """In a thread of its own: some phases are over before a few hundred pods are listed.

    `quota`: how many kills a round may spend in each phase.
    """

    store: ClusterStore
    shell: Shell
    random: Random
    quota: dict[Phase, int]
    calls: Callable[[], int]
    """How many changing calls the cloud has carried out so far."""
    kills: Counter[Phase] = field(default_factory=Counter)
    left: Counter[Phase] = field(default_factory=Counter)
    at_work: int = 0
    """Kills of a process that had written something since the last one."""
    problem: str = ""
    """Why it has ended, if it was not told to."""
    _aimed_at: Phase | None = None
    _due_s: float = 0.0
    _calls: int | None = None
    """With so many calls carried out, the kill still waits for one more."""
    _last: Phase | None = None
    """The phase of the last kill: a process that is killed there again has just been started."""
    _since: int = 0
    """The version of the record at the last kill."""
    _awake: bool = False
    """The kill waits until a later one was written."""

    def __post_init__(self) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def begin_round(self) -> None:
        self.left = Counter(self.quota)

    def stop(self) -> None:
        """No process is killed any more when this returns."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stopping.wait(LOOK_EVERY_S):
                with suppress(Busy, Unknown):  # the store, for a moment
                    self._turn()
        except Exception:
            self.problem = f"no process is killed any more:\n{traceback.format_exc()}"

    def _turn(self) -> None:
        """Look at the record, and kill if it is time."""
        found = self.store.read(SUBJECT)
        phase = phase_of(found.value)
        if phase is not self._aimed_at:
            self._aim(phase)
        if self.left[phase] <= 0:
            return
        self.shell.aim()
        if self._is_time(found.version):
            self._kill(found.version)

    def _is_time(self, version: int) -> bool:
        if self._awake and version <= self._since:
            return False
        if self._calls is not None:
            return self.calls() > self._calls
        return time.monotonic() >= self._due_s

    def _aim(self, phase: Phase) -> None:
        again = phase is self._last
        longest_s = AGAIN_S if again else LONGEST_S[phase]
        self._last = self._last if again else None
        self._awake = self.random.random() < AWAKE
        self._aimed_at, self._due_s = phase, time.monotonic() + self.random.uniform(0, longest_s)
        waits = self.left[phase] > 0 and phase in AT_THE_CALL and self.random.random() < 0.5
        self._calls = self.calls() if waits else None

    def _kill(self, version: int) -> None:
        """The record, read once the process is dead, says in which phase it was struck."""
        self._aimed_at = None
        if not self.shell.kill():
            return
        found = self.store.read(SUBJECT)
        struck = self._last = phase_of(found.value)
        self.kills[struck] += 1
        self.left[struck] -= 1
        self.at_work += version > self._since
        self._since = found.version
