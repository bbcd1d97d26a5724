"""One bad day at a time, on a fleet that nothing else befalls: the shipped shell, every call answered."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from holdfast.autoscaler import codec
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.tick import Autoscaler
from holdfast.cloud import Market, Offering
from holdfast.sim.limits import ItemLimits
from holdfast.sim.memory import MemoryItems
from holdfast.sim.scenarios.bad_days import SETTINGS, TYPES, BadDays
from holdfast.sim.world import World

CALM = replace(SETTINGS, usd_per_hour_max=0.0)
QUIET_S = 1_800.0


class Day(BadDays):
    """Nothing happens by itself; the fleet stands at its floor when the day begins."""

    def begin(self) -> None:
        self._first_machines()
        self.cloud.manners.never_joins = self.cloud.manners.dies_booting = 0.0
        self.cloud.manners.lag_s = 1.0
        self.metrics.begin()
        self.world.every(self.tick_s, self.invoke)
        self.world.every(600, self.judge.patrol)

    @property
    def serving(self) -> int:
        return sum(self.watch._is_worker(node) for node in self.cluster.by_name.values())

    def until(self, holds: Callable[[], bool], most_s: float) -> float:
        """How long it takes; more than `most_s` if it does not come to that."""
        began_s = self.world.now
        while not holds():
            if self.world.now - began_s > most_s:
                return self.world.now - began_s
            self.world.run(self.world.now + 10)
        return self.world.now - began_s

    def dry(self, market: Market = Market.SPOT) -> None:
        every = [kind for pool in self.settings.pools for kind in pool.instance_types]
        zones = self.cloud.zones
        self.cloud.wares.left.update({Offering(zone, market, kind): 0 for zone in zones for kind in every})

    def kinds(self) -> list[str]:
        return [logged.event.kind for logged in self.events(0)]


def a_day(
    shell: Any = Autoscaler, settings: Settings = CALM, subnets: Mapping[str, str] | None = None
) -> Day:
    world = World(1, None)
    day = Day(
        world,
        MemoryItems(codec.CODEC, limits=ItemLimits(world.now_s)),
        settings=settings,
        autoscaler=shell,
        tick_s=60.0,
    )
    for subnet, zone in (subnets or {}).items():
        day.cloud.add_subnet(subnet, zone)
    day.begin()
    world.run(world.now + QUIET_S)
    assert day.serving >= settings.min_workers, "the day begins well"
    return day


__all__ = ["CALM", "TYPES", "Day", "a_day"]
