"""What is worth a message, read off one record and one look.  Pure: the same look gives the same causes."""

from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum

from holdfast.autoscaler.reasons import Reason
from holdfast.autoscaler.record import Cluster, Purpose, Status
from holdfast.autoscaler.scale_up.launch_plan import left_this_hour
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.sweep.joined import this_hour
from holdfast.cloud import Market
from holdfast.cloud.text import lasting

LINGERS_S = 300
"""A pool that failed is tried again after its back-off.  Until that has had time to succeed, the failure is
not over: otherwise every try would be an end and a new beginning."""
NOT_DRAINED = "not drained"
"""How the reason of a node begins that was kept because its drain took too long."""


class Cause(StrEnum):
    SCALE_UP_FAILED = "ScaleUpFailed"
    NO_CAPACITY = "NoCapacity"
    ON_DEMAND_FALLBACK = "OnDemandFallback"
    DRAIN_STUCK = "DrainStuck"
    BUDGET_REACHED = "BudgetReached"
    BRAKE_ENGAGED = "BrakeEngaged"
    TEST = "Test"
    """Never found: sent by an operator who tries the channels."""

    @property
    def heading(self) -> str:
        return TITLES[self]


TITLES: Mapping[Cause, str] = {
    Cause.SCALE_UP_FAILED: "Scale-up failed",
    Cause.NO_CAPACITY: "No capacity",
    Cause.ON_DEMAND_FALLBACK: "On-demand instead of spot",
    Cause.DRAIN_STUCK: "Drain is stuck",
    Cause.BUDGET_REACHED: "Budget reached",
    Cause.BRAKE_ENGAGED: "Brake engaged",
    Cause.TEST: "Test",
}

Causes = Mapping[tuple[Cause, str], str]
"""By cause and what it is about (a pool, an instance, a budget): why, in words."""


def causes(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Causes:
    """Everything that holds now.  The first reason of a cause is the one that is told."""
    found: dict[tuple[Cause, str], str] = {}
    for cause, about, why in _all(cluster, snapshot, settings, now_s):
        found.setdefault((cause, about), why)
    return found


def _all(
    cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float
) -> Iterator[tuple[Cause, str, str]]:
    for failure in cluster.pool_failures:
        if now_s < failure.until_s + LINGERS_S:
            cause = Cause.SCALE_UP_FAILED if failure.failures else Cause.NO_CAPACITY
            yield cause, f"pool {failure.pool}", failure.reason or "its scale-up came out short"
    if cluster.hold_code == Reason.NOWHERE_TO_LAUNCH and not cluster.pool_failures:
        yield Cause.NO_CAPACITY, "the fleet", cluster.hold_reason
    yield from _on_demand(snapshot, settings)
    yield from _stuck(cluster, snapshot, settings, now_s)
    yield from _spent(cluster, settings, now_s)
    if cluster.refused_uid:
        yield Cause.BRAKE_ENGAGED, "the cluster", f"another cluster answers: {cluster.refused_uid}"
    for trouble in snapshot.troubles:
        yield Cause.BRAKE_ENGAGED, "the fleet", f"nothing scales down or is swept: {trouble}"


def _on_demand(snapshot: Snapshot, settings: Settings) -> Iterator[tuple[Cause, str, str]]:
    """Pools that prefer spot, and have workers that are not."""
    counted = Counter(
        worker.instance.pool
        for worker in snapshot.workers
        if worker.alive and worker.ours and worker.instance.market is Market.ON_DEMAND
    )
    for pool in settings.pools:
        if pool.market == Market.SPOT and counted[pool.name]:
            are = "is" if counted[pool.name] == 1 else "are"
            why = f"{counted[pool.name]} of its workers {are} on-demand, because spot had no capacity"
            yield Cause.ON_DEMAND_FALLBACK, f"pool {pool.name}", why


def _stuck(
    cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float
) -> Iterator[tuple[Cause, str, str]]:
    """Nodes that were kept because they did not empty in time, and those that take too long now."""
    named = {worker.instance_id: worker.node_name or worker.instance_id for worker in snapshot.workers}
    for skip in cluster.skipped:
        if skip.reason.startswith(NOT_DRAINED) and now_s < skip.until_s:
            yield Cause.DRAIN_STUCK, named.get(skip.instance_id, skip.instance_id), skip.reason
    down = cluster.scale_down
    if down is not None and now_s - down.started_s > settings.drain_timeout_s:
        for instance_id in down.having(Status.PLANNED):
            why = f"it is not empty after {lasting(settings.drain_timeout_s)}"
            yield Cause.DRAIN_STUCK, named.get(instance_id, instance_id), why


def _spent(cluster: Cluster, settings: Settings, now_s: float) -> Iterator[tuple[Cause, str, str]]:
    for purpose, names in BUDGETS.items():
        if left_this_hour(cluster, purpose, settings, now_s) <= 0:
            what, setting = names
            most = settings.budget_of(purpose)
            yield Cause.BUDGET_REACHED, what, f"all {most} of this hour are spent; the setting is {setting}"
    if len(this_hour(cluster, now_s)) >= settings.sweep_per_hour:
        why = f"all {settings.sweep_per_hour} of this hour are spent; the setting is SWEEP_PER_HOUR"
        yield Cause.BUDGET_REACHED, "the sweep", why


BUDGETS: Mapping[Purpose, tuple[str, str]] = {
    Purpose.DEMAND: ("launches for pods that wait", "LAUNCHES_PER_HOUR_MAX"),
    Purpose.REPAIR: ("launches in place of lost workers", "REPAIRS_PER_HOUR_MAX"),
    Purpose.HINT: ("launches for rebalance hints", "REBALANCES_PER_HOUR_MAX"),
}
