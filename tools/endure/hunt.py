"""When to kill: in every phase of the record, soon after it began or in the middle of it."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.ports import ClusterStore
from holdfast.autoscaler.record import Cluster
from tools.endure.phase import Phase, phase_of
from tools.endure.shells import Shell

LONGEST_S = {
    Phase.IDLE: 3.0,
    Phase.INTENDED: 0.2,
    Phase.JOINING: 4.0,
    Phase.DRAINING: 4.0,
    Phase.TERMINATING: 0.2,
    Phase.DOOMED: 0.8,
    Phase.DYING: 0.2,
}
"""How far into a phase the first kill may come.  Some are over in a moment, unless somebody dies in them."""
AGAIN_S = 3.5
"""Who is killed in the same phase again has just been started: it may not even be awake yet."""
AT_THE_CALL = (Phase.INTENDED, Phase.TERMINATING)
"""Here every other kill waits for the call to the cloud: done, and not yet noted."""


@dataclass
class Hunt:
    """`quota`: how many kills a round may spend in each phase."""

    store: ClusterStore
    shell: Shell
    dice: Random
    quota: dict[Phase, int]
    calls: Callable[[], int]
    """How many changing calls the cloud has carried out so far."""
    kills: Counter[Phase] = field(default_factory=Counter)
    left: Counter[Phase] = field(default_factory=Counter)
    _aimed_at: Phase | None = None
    _due_s: float = 0.0
    _calls: int | None = None
    """With so many calls carried out, the kill still waits for one more."""
    _last: Phase | None = None
    """The phase of the last kill: who is killed there again has just been started."""

    def begin_round(self) -> None:
        self.left = Counter(self.quota)

    def turn(self) -> Cluster:
        """Look at the record, and kill if it is time.  The record, as it is then."""
        cluster = self.store.read(SUBJECT).value
        phase = phase_of(cluster)
        if phase is not self._aimed_at:
            self._aim(phase)
        if self.left[phase] <= 0 or not self._is_time():
            return cluster
        return self._kill()

    def _is_time(self) -> bool:
        if self._calls is not None:
            return self.calls() > self._calls
        return time.monotonic() >= self._due_s

    def _aim(self, phase: Phase) -> None:
        again = phase is self._last
        longest_s = AGAIN_S if again else LONGEST_S[phase]
        self._last = self._last if again else None
        self._aimed_at, self._due_s = phase, time.monotonic() + self.dice.uniform(0, longest_s)
        waits = self.left[phase] > 0 and phase in AT_THE_CALL and self.dice.random() < 0.5
        self._calls = self.calls() if waits else None

    def _kill(self) -> Cluster:
        """The record, read once the process is dead, says in which phase it was struck."""
        if not self.shell.kill():
            self._aimed_at = None
            return self.store.read(SUBJECT).value
        cluster = self.store.read(SUBJECT).value
        struck = phase_of(cluster)
        self.kills[struck] += 1
        self.left[struck] -= 1
        self._aimed_at, self._last = None, struck
        return cluster
