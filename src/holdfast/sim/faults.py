"""Seeded faults.  Each seed draws its own set of fates and how often they strike.

A world in which every fault is always likely is one world; a swarm of worlds, each with
some of them, reaches combinations that no average does.
"""

from dataclasses import dataclass
from random import Random

from holdfast.sim.gate import Fate, Kind

POSSIBLE: dict[Kind, tuple[Fate, ...]] = {
    Kind.READ: (Fate.FAILS_BEFORE, Fate.SLOW, Fate.THROTTLED, Fate.DIES_BEFORE, Fate.PAUSED),
    Kind.LOOK: (Fate.FAILS_BEFORE, Fate.SLOW, Fate.THROTTLED, Fate.STALE, Fate.DIES_BEFORE, Fate.PAUSED),
    Kind.CHANGE: (
        Fate.FAILS_BEFORE,
        Fate.FAILS_AFTER,
        Fate.ANSWER_LOST,
        Fate.SLOW,
        Fate.THROTTLED,
        Fate.DIES_BEFORE,
        Fate.DIES_AFTER,
        Fate.PAUSED,
    ),
}


@dataclass(frozen=True)
class Faults:
    """Which fates may strike a call of each kind, and how likely one does."""

    chance: float
    active: dict[Kind, tuple[Fate, ...]]

    @classmethod
    def swarm(cls, seed: int) -> "Faults":
        random = Random(f"faults {seed}")
        chance = random.choice((0.01, 0.03, 0.08))
        often = {fate for fate in Fate if random.random() < 0.6}
        active = {kind: tuple(fate for fate in fates if fate in often) for kind, fates in POSSIBLE.items()}
        return cls(chance, active)

    def draw(self, random: Random, kind: Kind) -> Fate:
        if random.random() >= self.chance:
            return Fate.WORKS
        fates = self.active[kind]
        return random.choice(fates) if fates else Fate.WORKS
