"""A fleet over days and nights: load that follows the clock, scarce hours, prices that move.

A ledger says what it costs, and how long each pod waits from its creation until it has a node or ends.
What happens is drawn from sources of its own, so that two fleets with other settings live through the same
days: the same load, scarce hours and prices, ticks at the same moments, and machines that boot equally fast
within the same quarter of an hour.
"""

from dataclasses import dataclass, field
from math import pi, sin
from random import Random
from typing import Any

from holdfast.autoscaler.settings import Settings
from holdfast.cloud import Market, Offering
from holdfast.sim.kubernetes.pods import SimPod
from holdfast.sim.scenarios.scaling import TYPES, Scaling
from holdfast.sim.world import World

DAY_S, HOUR_S = 86_400, 3_600
STEP_S, SAMPLE_S = 900, 60
AT_ONCE_S = 5.0
"""A pod that waits no longer than this found room when it came."""


@dataclass
class Ledger:
    usd: float = 0.0
    waits_s: list[float] = field(default_factory=list)
    """One for each pod, those among them that found room at once."""

    @property
    def waited_s(self) -> float:
        """All pods together."""
        return sum(self.waits_s)

    @property
    def longest_s(self) -> float:
        return max(self.waits_s, default=0.0)

    def percentile(self, percent: float) -> float:
        """So long or shorter did this part of the pods wait."""
        ordered = sorted(self.waits_s)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]

    def of_those_that_waited(self) -> "Ledger":
        """Of those pods alone that found no room when they came."""
        return Ledger(self.usd, [each for each in self.waits_s if each > AT_ONCE_S])


class Days(Scaling):
    name = "days and nights of a fleet"

    def __init__(
        self, world: World, store: Any, *, settings: Settings, days: int, tick_s: float = 60.0
    ) -> None:
        super().__init__(world, store, settings=settings, tick_s=tick_s)
        self.ledger, self._days = Ledger(), days
        self.cluster.left_queue = self._waited
        self._fate = Random(f"what befalls {world.seed}")
        self.cloud.manners.lag_s = 3.0
        self.cloud.manners.never_joins = self.cloud.manners.dies_booting = 0.0
        self.cloud.wares.random = Random(f"prices of {world.seed}")
        self.cloud.boots = self._boots
        self.schedule = Random(f"ticks of {world.seed}")

    def begin(self) -> None:
        self.start()
        for n in range(self._days * DAY_S // STEP_S):
            self.world.after(n * STEP_S, self._step, n * STEP_S)
        for n in range(self._days * DAY_S // SAMPLE_S):
            self.world.after(n * SAMPLE_S, self._sample)

    def _step(self, at_s: int) -> None:
        """Little is asked for at night; deployments come and go; three hours a day some spot is scarce."""
        fate, wave = self._fate, 0.5 - 0.5 * sin(2 * pi * (at_s / DAY_S) + pi / 2)
        for workload, share in ((self.demand.web, 0.5), (self.demand.batch, 0.25)):
            level = share * self.demand.most * (0.25 + 0.75 * wave) * fate.uniform(0.85, 1.15)
            workload.busy = fate.uniform(0.3, 0.6)
            self.cluster.scale(workload, max(1, round(level)))
        if at_s % HOUR_S == 0:
            self.cloud.wares.drift(self.cloud.zones)
            self._scarcity(at_s)

    def _scarcity(self, at_s: int) -> None:
        self.cloud.wares.left.clear()
        if at_s % DAY_S // HOUR_S in (8, 9, 10):
            for zone in self.cloud.zones:
                for kind in TYPES:
                    if self._fate.random() < 0.8:
                        self.cloud.wares.left[Offering(zone, Market.SPOT, kind)] = 0

    def _boots(self) -> Random:
        return Random(f"boots of {self.world.seed} at {int(self.world.now // STEP_S)}")

    def _sample(self) -> None:
        self.ledger.usd += self.cloud.usd_per_hour() * SAMPLE_S / HOUR_S

    def _waited(self, pod: SimPod) -> None:
        self.ledger.waits_s.append(round(self.world.now - pod.created_s, 3))


def lived(world: World, store: Any, settings: Settings, days: int, tick_s: float = 60.0) -> Days:
    """A fleet that has lived so many days, or until an accident."""
    fleet = Days(world, store, settings=settings, days=days, tick_s=tick_s)
    fleet.begin()
    until_s = world.now + days * DAY_S
    while world.now < until_s and not fleet.accidents:
        world.run(min(until_s, world.now + STEP_S))
    for pod in fleet.cluster.waiting.values():
        fleet._waited(pod)
    return fleet
