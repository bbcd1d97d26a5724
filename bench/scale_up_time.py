"""How long 200 pending pods wait until all of them run, at the seed's default settings.

Virtual time, in the simulated world: the shipped shell is invoked every minute, machines take half a
minute to two to boot and join, nothing fails.  Two workers are full already, so that the 200 need
eight more, and the settings allow two at a time: most of the time goes by in waits that the settings
ask for (PENDING_UP_SEC once, COOLDOWN_UP_SEC between scale-ups).  That is what it stands beside.
"""

from statistics import median
from typing import Final

from bench import Row
from holdfast.autoscaler import codec
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.cloud import Market, Offering, State
from holdfast.sim.ec2.cloud import Manners
from holdfast.sim.kubernetes.pods import Workload
from holdfast.sim.memory import MemoryItems
from holdfast.sim.scenarios.scaling import SUBNETS, Scaling
from holdfast.sim.world import World

PODS: Final = 200
TICK_S: Final = 60.0
SEEDS: Final = range(1, 10)
LONGEST_S: Final = 4 * 3_600.0
TYPE: Final = "m5.large"
"""The simulated cloud lets one of these run 29 pods."""
SETTINGS: Final = Settings(pools=(Pool(instance_types=(TYPE,), subnet_ids=tuple(SUBNETS)),))
"""The seed's defaults, and something to launch somewhere."""
CPU_M: Final = 70
"""Of a waiting pod: twenty-five of them fit a worker, and eight workers hold them all."""
FULL_CPU_M: Final = 1_800


def run() -> list[Row]:
    times_s = [seconds(seed) for seed in SEEDS]
    scale_ups = -(-(SETTINGS.max_workers - SETTINGS.min_workers) // SETTINGS.max_batch_up)
    waits_s = SETTINGS.pending_up_s + (scale_ups - 1) * SETTINGS.cooldown_up_s
    took_s = median(times_s)
    what = f"{PODS} pending pods until all run (virtual time)"
    return [Row(what, took_s, "the waits that the settings ask for", waits_s, took_s / waits_s, None, " s")]


def seconds(seed: int) -> float:
    """From the moment when all are pending until all run."""
    world = World(seed)
    scaling = Scaling(world, MemoryItems(codec.CODEC), settings=SETTINGS, tick_s=TICK_S)
    cluster, cloud = scaling.cluster, scaling.cloud
    cloud.manners = Manners()
    for zone in ("a", "b"):
        machine = cloud.add(
            Offering(zone, Market.SPOT, TYPE),
            action_id="earlier",
            state=State.RUNNING,
        )
        scaling.judge.named.add(machine.instance_id)
        where = f"aws:///{zone}/{machine.instance_id}"
        cluster.add_node(machine.address, zone=zone, machine=machine, provider_id=where, ready=True)
    cluster.deploy(Workload(name="full", replicas=2, cpu_m=FULL_CPU_M))
    scaling.metrics.begin()
    world.every(TICK_S, scaling.invoke)
    world.run(world.now + 600)
    waiting = cluster.deploy(Workload(name="waiting", replicas=PODS, cpu_m=CPU_M, memory=64 << 20))
    begun_s = world.now
    while sum(pod.ready for pod in waiting.pods.values()) < PODS:
        world.run(world.now + 1)
        if world.now - begun_s > LONGEST_S:
            raise RuntimeError(f"seed {seed}: pods still wait after {LONGEST_S:.0f} s: {scaling.record}")
    if scaling.accidents:
        raise RuntimeError(f"seed {seed}: {scaling.accidents}")
    return world.now - begun_s
