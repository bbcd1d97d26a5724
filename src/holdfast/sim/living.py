"""A whole world from one seed: the three scenarios together, faults, then healing."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any, Final

from holdfast.autoscaler import codec as cluster_codec
from holdfast.autoscaler.tick import Autoscaler
from holdfast.sim.failover.store import MemoryGroups
from holdfast.sim.failover.wire import DatabaseClock, Weather
from holdfast.sim.faults import Faults
from holdfast.sim.limits import ItemLimits
from holdfast.sim.memory import MemoryCaps, MemoryItems
from holdfast.sim.scenarios import Agreeing, Scaling, Scenario, TakingOver, scaling
from holdfast.sim.scenarios.bad_days import BadDays
from holdfast.sim.world import START_S, World

HEALING_H = 6.0
"""Faults stop, nothing new happens; by the end of this everything must be as it should be."""

SMALL: Final = replace(scaling.SETTINGS, max_workers=6)
TICK_S, PACE = 900.0, 12.0
"""A small fleet, looked after every quarter of an hour: a year of it can be lived at every check."""

BAD_TICK_S: Final = 300.0
"""On bad days the fleet is looked after every five minutes."""

Workflows = dict[str, Any]
"""By scenario's name what it uses in place of the shipped workflow, or shell: for broken variants."""


@dataclass(frozen=True)
class Lived:
    """What became of one seed."""

    seed: int
    hours: float
    digest: int
    actions: dict[str, int]
    suffered: dict[tuple[str, str], int]
    accidents: tuple[str, ...]
    unhealed: tuple[str, ...]
    befell: dict[str, int] = field(default_factory=dict)
    """Of bad days: how often each thing went wrong."""

    def complaint(self) -> str:
        """Empty if all went well; else what went wrong, and the command that replays it."""
        wrong = [*self.accidents, *self.unhealed]
        if not wrong:
            return ""
        bad = " --bad-days" if self.befell else ""
        replay = f"replay: holdfast sim{bad} --seed {self.seed} --hours {self.hours:g}"
        return "\n".join([*wrong[:10], replay])


def live(
    seed: int,
    hours: float,
    *,
    workflows: Workflows | None = None,
    only: Collection[str] = (),
    watch: Callable[[World, tuple[Scenario, ...]], None] = lambda world, scenarios: None,
) -> Lived:
    """Live through that many virtual hours of faults, and the healing after them.

    `only` names the scenarios that take part; without it all do.
    """
    world = World(seed, Faults.swarm(seed))
    chosen, weather = workflows or {}, Weather()
    scenarios: tuple[Scenario, ...] = (
        Scaling(
            world,
            MemoryItems(cluster_codec.CODEC, limits=ItemLimits(world.now_s)),
            settings=SMALL,
            autoscaler=chosen.get(Scaling.name, Autoscaler),
            tick_s=TICK_S,
            pace=PACE,
        ),
        TakingOver(
            world, MemoryGroups(DatabaseClock(world, weather).now_s), chosen.get(TakingOver.name), weather
        ),
        Agreeing(world, MemoryCaps(ItemLimits(world.now_s)), chosen.get(Agreeing.name)),
    )
    if only:
        scenarios = tuple(scenario for scenario in scenarios if scenario.name in only)
    watch(world, scenarios)
    for scenario in scenarios:
        scenario.begin()
    world.run(START_S + hours * 3600)
    world.faults = None
    for scenario in scenarios:
        scenario.calm()
    world.run(world.now + HEALING_H * 3600)
    return Lived(
        seed=seed,
        hours=hours,
        digest=world.digest,
        actions={scenario.name: scenario.actions for scenario in scenarios},
        suffered=dict(world.suffered),
        accidents=tuple(problem for scenario in scenarios for problem in scenario.accidents),
        unhealed=tuple(problem for scenario in scenarios for problem in scenario.unhealed()),
    )


def live_badly(seed: int, hours: float, *, autoscaler: Any = Autoscaler) -> Lived:
    """A fleet on bad days, and the healing after them.  In every other seed calls fail besides."""
    world = World(seed, Faults.swarm(seed) if seed % 2 else None)
    store = MemoryItems(cluster_codec.CODEC, limits=ItemLimits(world.now_s))
    fleet = BadDays(world, store, autoscaler=autoscaler, tick_s=BAD_TICK_S)
    fleet.begin()
    world.run(START_S + hours * 3600)
    world.faults = None
    fleet.calm()
    world.run(world.now + HEALING_H * 3600)
    return Lived(
        seed=seed,
        hours=hours,
        digest=world.digest,
        actions={fleet.name: fleet.actions},
        suffered=dict(world.suffered),
        accidents=tuple(fleet.accidents),
        unhealed=tuple(fleet.unhealed()),
        befell=fleet.befell,
    )
