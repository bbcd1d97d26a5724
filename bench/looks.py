"""How often a scale-up and a scale-down by one look at the world, and how often they commit.

The shipped tick in the simulated world, invoked every minute with the seed's default settings; nothing
fails.  A look lists machines, nodes and pods, which is most of what a tick costs; a commit is one write of
the record.  Counted is everything from the tick that first sees the cause (a pending pod, idle workers) to
the last commit of the action, without the ticks that only wait for the settings' own delays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bench import Row
from holdfast.autoscaler import codec
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.cloud import Instance, Market, Offering, State
from holdfast.kernel import Versioned, Write
from holdfast.sim.ec2.cloud import Manners
from holdfast.sim.kubernetes.pods import Workload
from holdfast.sim.memory import MemoryItems
from holdfast.sim.scenarios.scaling import SUBNETS, Scaling
from holdfast.sim.world import World

TICK_S: Final = 60.0
TYPE: Final = "m5.large"
SETTINGS: Final = Settings(pools=(Pool(instance_types=(TYPE,), subnet_ids=tuple(SUBNETS)),))
HALF_A_WORKER_M: Final = 900
GRACE_S: Final = 30
"""So long a pod takes to end: Kubernetes' default."""
LONGEST_S: Final = 3_600.0
MOST: Final = {"scale-up by one": (10, 8), "scale-down by one": (14, 9)}
"""Looks and commits."""


@dataclass
class Counted:
    """What the ticks did, in order: one line a look or commit."""

    world: World
    lines: list[tuple[float, str]] = field(default_factory=list)

    def look(self) -> None:
        self.lines.append((self.world.now, "look"))

    def commit(self, kinds: Sequence[str]) -> None:
        self.lines.append((self.world.now, f"commit {' '.join(kinds)}"))

    def since(self, first: int) -> tuple[int, int]:
        """Looks and commits, without ticks that only looked."""
        rows = self.lines[first:]
        last = max(n for n, (_, what) in enumerate(rows) if what != "look")
        rows = [row for n, row in enumerate(rows[: last + 1]) if not _only_waits(rows, n)]
        looks = sum(what == "look" for _, what in rows)
        return looks, len(rows) - looks


def _only_waits(rows: Sequence[tuple[float, str]], n: int) -> bool:
    """A look with nothing after it in the same tick, and nothing before."""
    at_s, what = rows[n]
    near = [row for m, row in enumerate(rows) if m != n and abs(row[0] - at_s) < TICK_S / 2]
    return what == "look" and not near


class Fleet:
    """Three full workers and the shipped tick every minute."""

    def __init__(self, seed: int) -> None:
        self.world = World(seed)
        self.counted = Counted(self.world)
        self.scaling = Scaling(self.world, _CountingItems(self.counted), settings=SETTINGS, tick_s=TICK_S)
        self.scaling.cloud.manners = Manners()
        listed = self.scaling.cloud.instances

        def instances(lag_s: float | None = None) -> Sequence[Instance]:
            self.counted.look()
            return listed(lag_s)

        self.scaling.cloud.instances = instances  # type: ignore[method-assign]
        self._workers(("a", "a", "b"))
        for pool in SETTINGS.pools:
            self.scaling.cloud.prepare(pool)
        self.load = self.scaling.cluster.deploy(
            Workload(name="load", replicas=6, cpu_m=HALF_A_WORKER_M, grace_s=GRACE_S)
        )
        self.scaling.metrics.begin()
        self.world.every(TICK_S, self.scaling.invoke)
        self.world.run(self.world.now + 600)

    def _workers(self, zones: Sequence[str]) -> None:
        for zone in zones:
            offering = Offering(zone, Market.SPOT, TYPE)
            machine = self.scaling.cloud.add(offering, action_id="earlier", state=State.RUNNING)
            self.scaling.judge.named.add(machine.instance_id)
            where = f"aws:///{zone}/{machine.instance_id}"
            self.scaling.cluster.add_node(
                machine.address, zone=zone, machine=machine, provider_id=where, ready=True
            )

    def until(self, kind: str) -> tuple[int, int]:
        """Live until this event is told and the tick that told it has ended."""
        first, begun_s = len(self.counted.lines), self.world.now
        while not any(kind in what for _, what in self.counted.lines[first:]):
            self.world.run(self.world.now + 1)
            if self.world.now - begun_s > LONGEST_S:
                raise RuntimeError(f"no {kind} within {LONGEST_S:.0f} s: {self.scaling.record}")
        self.world.run(self.world.now + TICK_S / 2)
        if self.scaling.accidents:
            raise RuntimeError(f"{self.scaling.accidents}")
        return self.counted.since(first)


class _CountingItems(MemoryItems[Any]):
    def __init__(self, counted: Counted) -> None:
        super().__init__(codec.CODEC)
        self._counted = counted

    def commit(
        self, subject: str, found: Versioned[Any], write: Write[Any], commit_id: str
    ) -> Versioned[Any]:
        done = super().commit(subject, found, write, commit_id)
        self._counted.commit([event.kind for event in write.events])
        return done


def measured(seed: int = 1) -> dict[str, tuple[int, int]]:
    """Looks and commits of each."""
    fleet = Fleet(seed)
    fleet.scaling.cluster.scale(fleet.load, 7)
    up = fleet.until("completeScaleUp")
    fleet.world.run(fleet.world.now + SETTINGS.cooldown_down_s)
    fleet.load.busy = 0.1
    fleet.scaling.cluster.scale(fleet.load, 6)
    down = fleet.until("completeScaleDown")
    return {"scale-up by one": up, "scale-down by one": down}


def run() -> list[Row]:
    return [
        Row(f"{what} of a {action}", count, "at most", most, count / most, 1.0, "")
        for action, counts in measured().items()
        for what, count, most in zip(("looks", "commits"), counts, MOST[action], strict=True)
    ]
