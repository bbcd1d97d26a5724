"""What must hold on bad days too: the floor comes back, one pool's trouble is its own, reasons are true.

Each may be wrong for a while, because ticks come only now and then and may fail.  The bounds are stated here.
"""

from collections.abc import Callable, Iterable
from typing import Final

from holdfast.autoscaler.reasons import Reason, TickOutcome
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.snapshot.brake import MANY
from holdfast.cloud import Market, Offering
from holdfast.sim.ec2.cloud import SimCloud
from holdfast.sim.kubernetes.cluster import SimKubernetes
from holdfast.sim.kubernetes.pods import Owned, SimNode
from holdfast.sim.scenarios.scaling_judge import PATIENCE_S, PATIENCE_TICKS, Judge

FLOOR: Final = "L-A4"
FLOOR_S: Final = 1_800.0
"""Within so long, and some ticks, the floor is back while any offering of any pool can be had."""
FLOOR_TICKS: Final = 6
"""As many as that, where every call is answered;"""
FLOOR_TICKS_A_PERCENT: Final = 4
"""and as many more for each percent of the calls that fail, lose their answer or kill their process."""
OFTEN: Final = 0.05
ENDED_TICKS: Final = 24
"""Where more than this share fails, most ticks die: as many must have come to their end besides."""
FOREVER_S: Final = float("inf")
TRUE_S: Final = 1_800.0
"""So long may the record say that workers are on their way when none is."""


class BadDaysJudge(Judge):
    def __init__(
        self,
        cloud: SimCloud,
        cluster: SimKubernetes,
        settings: Settings,
        record: Callable[[], Cluster],
        tick_s: float,
    ) -> None:
        super().__init__(cloud, cluster, settings, record)
        self.patience_s = max(PATIENCE_S, PATIENCE_TICKS * tick_s)
        self.never_run: set[str] = set()
        """Workloads of which some pods can never run."""
        self._tick_s = tick_s
        self._calls_fail = cloud.world.faults is not None
        self._ended_ticks = self._ended_before = 0
        self.longest_below_s = 0.0
        """How long the floor was broken at most, while something could be had."""

    def patrol(self) -> None:
        super().patrol()
        below = (for_s for what, for_s in self._wrong_s.items() if what.startswith(FLOOR))
        self.longest_below_s = max(self.longest_below_s, *below, 0.0)

    def wrong(self) -> Iterable[tuple[str, float]]:
        yield from super().wrong()
        serving = self._serving()
        if len(serving) < self.settings.min_workers and self._can_be_had() and self._has_room():
            bound_s = FLOOR_S + self._ticks() * self._tick_s
            yield (
                f"{FLOOR}: below the floor, and capacity can be had",
                bound_s if self._had_ticks() else FOREVER_S,
            )
        else:
            self._ended_before = self._ended_ticks
        yield from self._untrue()
        yield from self._hung()
        yield from self._deadlocked(serving)

    def _ticks(self) -> float:
        """How many ticks the floor may take besides."""
        faults = self.cloud.world.faults
        if faults is None:
            return FLOOR_TICKS
        return FLOOR_TICKS + 100 * faults.chance * FLOOR_TICKS_A_PERCENT

    def _had_ticks(self) -> bool:
        """Whether enough ticks came to their end since the floor was broken."""
        faults = self.cloud.world.faults
        rare = faults is None or faults.chance <= OFTEN
        return rare or self._ended_ticks - self._ended_before >= ENDED_TICKS

    def tick_ended(self, outcome: TickOutcome, why: str) -> None:
        super().tick_ended(outcome, why)
        self._ended_ticks += outcome in (TickOutcome.IDLE, TickOutcome.WAITING)

    def calmed(self) -> None:
        """From here on no call fails, and bounds are shorter: what was broken until now counts anew.

        Where no call failed before, the bounds are the same, and nothing is forgotten.
        """
        if not self._calls_fail:
            return
        self._wrong_s = {what: for_s for what, for_s in self._wrong_s.items() if not what.startswith(FLOOR)}

    def _serving(self) -> list[SimNode]:
        return [node for node in self.cluster.by_name.values() if self._is_worker(node)]

    def _is_worker(self, node: SimNode) -> bool:
        return node.machine is not None and node.machine.alive and node.ready and not self._is_joining(node)

    def _is_joining(self, node: SimNode) -> bool:
        return node.machine is not None and not self.shown.serves(node.machine)

    def _can_be_had(self, pool: Pool | None = None) -> bool:
        """Whether any offering of any pool that is in order has room."""
        pools = [pool] if pool is not None else self.settings.pools
        return any(
            self.cloud.wares.left.get(offering, 1) > 0 and self.cloud.room(offering) > 0
            for each in pools
            if each.name not in (*self.cloud.broken_pools, *self.cloud.undescribed)
            for subnet, zone in self.cloud.subnets(each.subnet_ids).items()
            if subnet not in self.cloud.full_subnets
            for kind in each.instance_types
            for market in Market
            for offering in (Offering(zone, market, kind),)
        )

    def _has_room(self) -> bool:
        """Whether the maximum leaves room beside machines whose nodes were deleted, many at once."""
        named = {node.machine.instance_id for node in self.cluster.by_name.values() if node.machine}
        nodeless = [m for m in self.cloud.alive() if m.instance_id not in named]
        return len(nodeless) < MANY or len(self.cloud.alive()) < self.settings.max_workers

    def _untrue(self) -> Iterable[tuple[str, float]]:
        record = self.record()
        booting = [m for m in self.cloud.alive() if m.action_id and not self.shown.serves(m)]
        if record.hold_code == Reason.CAPACITY_ON_ITS_WAY and not booting and record.scale_up is None:
            yield "L-A6: it says that workers are on their way, and none is", TRUE_S + 4 * self._tick_s

    def silent(self) -> list[SimNode]:
        return [
            node
            for node in self.cluster.by_name.values()
            if node.machine is not None and node.machine.alive and not node.ready and self._served(node)
        ]

    def is_braked(self) -> bool:
        """Whether so many are silent that nothing is ended."""
        silent = len(self.silent())
        return silent > self.settings.brake_not_ready_fraction * (silent + len(self._serving()))

    def _hung(self) -> Iterable[tuple[str, float]]:
        for node in [] if self.is_braked() else self.silent():
            machine = node.machine
            if machine is None or not machine.action_id or machine.protected:
                continue
            if not self.shown.is_disowned(machine):
                yield f"L-A7: {node.name} is not ready, and {machine.instance_id} runs on", self.patience_s

    def _served(self, node: SimNode) -> bool:
        return node.machine is not None and self.shown.serves(node.machine)

    def _deadlocked(self, serving: list[SimNode]) -> Iterable[tuple[str, float]]:
        """At the greatest size, pods that wait for one pool keep no empty worker of another."""
        if len(self.cloud.alive()) < self.settings.max_workers:
            return
        for pool in self.settings.pools:
            here = [m for m in self.cloud.alive() if m.pool == pool.name]
            waits = any(
                pod.workload.node_selector and pod.workload.node_selector == pool.labels
                for pod in self.cluster.waiting.values()
            )
            others = [
                node
                for node in serving
                if node.machine and node.machine.pool != pool.name and node.machine.action_id
            ]
            empty = [node.name for node in others if self._is_empty(node)]
            if waits and len(here) < pool.max_workers and len(empty) > 1 and self._can_be_had(pool):
                yield f"L-A8: pods wait for pool {pool.name} beside empty workers of others", self.patience_s

    def _is_empty(self, node: SimNode) -> bool:
        return all(pod.workload.kind is Owned.DAEMON_SET for pod in node.pods.values())

    def _unserved(self) -> Iterable[str]:
        for complaint in super()._unserved():
            if not any(f" {name}" in complaint for name in self.never_run):
                yield complaint
