"""Busy days of one fleet, judged: many things happen, each call may fail, then all must heal."""

from dataclasses import dataclass
from typing import Any

from holdfast.autoscaler import codec
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.tick import Autoscaler
from holdfast.sim.faults import Faults
from holdfast.sim.limits import ItemLimits
from holdfast.sim.living import HEALING_H
from holdfast.sim.memory import MemoryItems
from holdfast.sim.scenarios.scaling import SETTINGS, Scaling
from holdfast.sim.world import START_S, World


@dataclass(frozen=True)
class Fleet:
    world: World
    scaling: Scaling
    complaints: tuple[str, ...]


def a_fleet(seed: int, shell: Any = Autoscaler, settings: Settings = SETTINGS) -> Scaling:
    world = World(seed, Faults.swarm(seed))
    items = MemoryItems(codec.CODEC, limits=ItemLimits(world.now_s))
    return Scaling(world, items, autoscaler=shell, settings=settings)


def busy_days(seed: int, hours: float, shell: Any = Autoscaler, settings: Settings = SETTINGS) -> Fleet:
    """Live through faults and healing; an accident ends the day, because what follows may come of it."""
    scaling = a_fleet(seed, shell, settings)
    world = scaling.world
    scaling.begin()
    _run(scaling, START_S + hours * 3600)
    world.faults = None
    scaling.calm()
    _run(scaling, world.now + HEALING_H * 3600)
    complaints = scaling.accidents or scaling.unhealed()
    return Fleet(world, scaling, tuple(f"seed {seed}: {complaint}" for complaint in complaints))


def _run(scaling: Scaling, until_s: float) -> None:
    while scaling.world.now < until_s and not scaling.accidents:
        scaling.world.run(min(until_s, scaling.world.now + 600))
