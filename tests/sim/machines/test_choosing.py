"""A simulated fleet that requires its machines and keeps headroom: every invariant holds, whatever fails."""

from dataclasses import replace

import pytest

from holdfast.autoscaler import codec
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.settings.requirements import Requirements
from holdfast.autoscaler.settings.spare import Spare
from holdfast.sim.faults import Faults
from holdfast.sim.limits import ItemLimits
from holdfast.sim.memory import MemoryItems
from holdfast.sim.scenarios.scaling import SETTINGS, SUBNETS, Scaling
from holdfast.sim.world import START_S, World

REQUIRED = Requirements(families=("m5", "m5a", "m6i", "t3", "t3a"), vcpus_max=4, burstable=True)
ANY = Pool(
    instance_types=(), requirements=REQUIRED, subnet_ids=tuple(SUBNETS), spare=Spare(1, 500), vcpus_max=24
)
CHOOSING: Settings = replace(SETTINGS, pools=(ANY, SETTINGS.pools[1]), offerings_min=6)


def lived(seed: int, hours: float) -> Scaling:
    world = World(seed, Faults.swarm(seed))
    store = MemoryItems(codec.CODEC, limits=ItemLimits(world.now_s))
    fleet = Scaling(world, store, settings=CHOOSING, tick_s=60.0)
    fleet.begin()
    world.run(START_S + hours * 3_600)
    world.faults = None
    fleet.calm()
    world.run(world.now + 3_600)
    return fleet


@pytest.mark.parametrize("seed", [10, 14])
def test_a_fleet_of_the_cheapest_machines_keeps_every_invariant(seed: int) -> None:
    fleet = lived(seed, 1.0)

    assert not fleet.accidents
    assert not fleet.unhealed()
    launched = [each.offering for each in fleet.cloud.machines.values() if each.action_id]
    assert len(set(launched)) > 2, "not all of one offering"
    assert {each.instance_type for each in launched} <= {
        "m5.large",
        "m5.xlarge",
        "m5a.large",
        "m6i.large",
        "t3.medium",
        "t3a.medium",
    }
