"""Listings that lie for hours: no schedule of them ends what serves, and when they end the fleet heals."""

import pytest

from holdfast.autoscaler import codec
from holdfast.autoscaler.tick import Autoscaler
from holdfast.sim.faults import Faults
from holdfast.sim.limits import ItemLimits
from holdfast.sim.living import HEALING_H
from holdfast.sim.memory import MemoryItems
from holdfast.sim.scenarios.lies import Lies
from holdfast.sim.world import START_S, World
from tests.deep import DEEP
from tests.proof import prove

HOURS, TICK_S = 10, 240.0
SHIFTS = (3, 7, 11)
DAYS = tuple(range(20, 36))


def a_fleet(seed: int, shell: type[Autoscaler] = Autoscaler) -> Lies:
    world = World(seed, Faults.swarm(seed))
    items = MemoryItems(codec.CODEC, limits=ItemLimits(world.now_s))
    return Lies(world, items, autoscaler=shell, tick_s=TICK_S)


def lived(fleet: Lies, hours: float) -> list[str]:
    """What went wrong: in the first accident, or at the end."""
    world, until_s = fleet.world, START_S + hours * 3600
    fleet.begin()
    while world.now < until_s and not fleet.accidents:
        world.run(min(until_s, world.now + 600))
    world.faults = None
    fleet.calm()
    if not fleet.accidents:
        world.run(world.now + HEALING_H * 3600)
    return fleet.accidents or list(fleet.unhealed())


@pytest.mark.parametrize(
    ("seed", "hours"),
    [*((seed, HOURS) for seed in SHIFTS), *(pytest.param(seed, 24, marks=DEEP) for seed in DAYS)],
)
def test_whatever_listings_show_what_serves_goes_on_serving(seed: int, hours: int) -> None:
    fleet = a_fleet(seed)

    assert lived(fleet, hours) == [], f"seed {seed}"
    assert sum(fleet.befell.values()) >= hours / 3, "too little happened"
    prove("fleet", "listings that lie", hours=hours, **fleet.befell)


def test_each_of_them_befalls_a_fleet_in_these_shifts() -> None:
    fleets = [a_fleet(seed) for seed in SHIFTS[:2]]
    for fleet in fleets:
        fleet.begin()
        fleet.world.run(START_S + HOURS * 3600)
    assert len({kind for fleet in fleets for kind in fleet.befell}) >= 7
