"""What would have to change for the fleet to scale up or to scale down now.

Each condition says how things stand, whether it holds, and by how much it misses.  The decision
itself is made by `decide`; here it is only taken apart.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from holdfast.autoscaler.decide import (
    Hold,
    RemoveWorkers,
    below_floor,
    decide,
    is_idle,
    pending_for_s,
)
from holdfast.autoscaler.disruption.consolidation import disruption_allowed
from holdfast.autoscaler.fleet import on_its_way, serving, size
from holdfast.autoscaler.interruption import unanswered
from holdfast.autoscaler.operator import is_paused
from holdfast.autoscaler.reasons import Reason
from holdfast.autoscaler.record import Cluster, Purpose
from holdfast.autoscaler.report.by_choice import consolidation, rotation_of, windows
from holdfast.autoscaler.scale_up.launch_plan import spent_lately
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.cloud.text import counted, lasting


@dataclass(frozen=True, slots=True)
class Condition:
    name: str
    holds: bool
    says: str

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "holds": self.holds, "says": self.says}


@dataclass(frozen=True, slots=True)
class FleetVerdict:
    decision: str
    """`scale up`, `scale down` or `hold`."""
    why: str
    reasons_to_scale_up: tuple[Condition, ...]
    """One of these is enough, if nothing below is against it."""
    bars_to_scale_up: tuple[Condition, ...]
    """Each must be clear, that is, hold."""
    scales_down_only_if: tuple[Condition, ...]
    """Each must hold."""
    troubles: tuple[str, ...] = ()
    consolidation: str = ""
    """What consolidation would do, or why it does nothing."""
    rotation: str = ""
    """Which worker is replaced by choice, or why none is."""

    def as_json(self) -> dict[str, Any]:
        return {
            "decision": self.decision,
            "why": self.why,
            "reasons_to_scale_up": [each.as_json() for each in self.reasons_to_scale_up],
            "bars_to_scale_up": [each.as_json() for each in self.bars_to_scale_up],
            "scales_down_only_if": [each.as_json() for each in self.scales_down_only_if],
            "troubles": list(self.troubles),
            "consolidation": self.consolidation,
            "rotation": self.rotation,
        }


def explain_fleet(
    cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float, may_leave: int
) -> FleetVerdict:
    """`may_leave`: how many nodes nothing keeps."""
    decision = decide(cluster, snapshot, settings, now_s)
    if isinstance(decision, RemoveWorkers) and not may_leave:
        decision = Hold(Reason.NO_WORKER_MAY_LEAVE, "idle: no worker may leave now")
    return FleetVerdict(
        decision.word,
        decision.why,
        tuple(_reasons_to_scale_up(cluster, snapshot, settings, now_s)),
        tuple(_bars_to_scale_up(cluster, snapshot, settings, now_s)),
        tuple(_scales_down_only_if(cluster, snapshot, settings, now_s, may_leave)),
        snapshot.troubles,
        consolidation(cluster, snapshot, settings, now_s),
        rotation_of(cluster, snapshot, settings, now_s),
    )


def _reasons_to_scale_up(
    cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float
) -> Iterable[Condition]:
    missing = sum(need.count for need in below_floor(cluster, snapshot, settings, now_s))
    there = size(cluster, snapshot)
    yield Condition(
        "below the floor",
        missing > 0,
        f"{counted(there, 'worker')} there or on their way, MIN_WORKERS is {settings.min_workers}"
        + (f": {missing} missing" if missing else ""),
    )
    waited_s = pending_for_s(cluster, snapshot, settings, now_s) if snapshot.pending else 0.0
    needs = snapshot.needs(on_its_way(cluster, snapshot))
    wanted = sum(need.count for need in needs)
    says = f"{_waiting(snapshot.pending)}, PENDING_UP_SEC is {settings.pending_up_s}"
    if snapshot.pending:
        says += f", waiting for {lasting(waited_s)}"
        says += (
            f" and in need of {counted(wanted, 'more worker')}"
            if needs
            else "; what there is or comes has room for them"
        )
    yield Condition("pods are pending", bool(needs) and waited_s >= settings.pending_up_s, says)
    cpu = snapshot.load.cpu
    yield Condition(
        "busy",
        cpu is not None and cpu > settings.cpu_up,
        f"CPU is {_percent(cpu)}, more than {_percent(settings.cpu_up)} (CPU_UP) would be busy",
    )


def _bars_to_scale_up(
    cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float
) -> Iterable[Condition]:
    yield _no_action(cluster)
    yield _not_paused(cluster, now_s)
    yield _over("cool-down after the last scale-up", cluster.last_up_s, settings.cooldown_up_s, now_s)
    there = size(cluster, snapshot)
    yield Condition(
        "maximum size",
        there < settings.max_workers,
        f"{counted(there, 'worker')} there or on their way, MAX_WORKERS is {settings.max_workers}",
    )
    yield _back_off(cluster, now_s)
    for purpose, called in BUDGETS.items():
        spent, most = spent_lately(cluster, now_s, purpose), settings.budget_of(purpose)
        yield Condition(called, spent < most, f"{spent} of {most} spent")
    yield _pools(snapshot, settings)
    if settings.usd_per_hour_max:
        yield _cost(snapshot, settings)
    nowhere = [pool.name for pool in settings.pools if not any(p.pool == pool.name for p in snapshot.places)]
    yield Condition(
        "somewhere to scale up",
        len(nowhere) < len(settings.pools),
        f"no known subnet: pool {', '.join(nowhere)}" if nowhere else "every pool has a known subnet",
    )


BUDGETS = {
    Purpose.DEMAND: "launches of this hour",
    Purpose.REPAIR: "repairs of this hour",
    Purpose.HINT: "launches for hints of this hour",
    Purpose.ROTATION: "launches for replacements by choice of this hour",
}


def _back_off(cluster: Cluster, now_s: float) -> Condition:
    waiting = [one for one in cluster.pool_failures if now_s < one.until_s]
    says = [
        f"pool {one.pool}: {one.failures or 'no'} scale-ups in a row failed, nothing is launched for "
        f"{lasting(one.until_s - now_s)} more ({one.reason})"
        for one in waiting
    ]
    return Condition("back-off", not waiting, "; ".join(says) or "none")


def _pools(snapshot: Snapshot, settings: Settings) -> Condition:
    broken = [f"pool {name}: {problem}" for name, problem in snapshot.pool_problems.items()]
    says = "; ".join(broken) or "every pool can be launched from"
    return Condition("pools in order", len(broken) < len(settings.pools), says)


def _scales_down_only_if(
    cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float, may_leave: int
) -> Iterable[Condition]:
    load = snapshot.load
    yield _no_action(cluster)
    yield _not_paused(cluster, now_s)
    if load.cpu is None:
        yield Condition("little load", False, f"the load is not known: {load.problem}")
    else:
        busiest = max(load.cpu, load.peak if load.peak is not None else load.cpu)
        yield Condition(
            "little load",
            busiest < settings.cpu_down,
            f"CPU is {_percent(load.cpu)}, was {_percent(busiest)} at most, "
            f"and must stay below {_percent(settings.cpu_down)} (CPU_DOWN)",
        )
    waits = [pool.name for pool in settings.pools if snapshot.pods_wait_for(pool.name)]
    says = _waiting(snapshot.pending) + (f" in pool {', '.join(waits)}" if waits else "")
    yield Condition("nothing pending", len(waits) < len(settings.pools), says)
    idle_s = max(0.0, now_s - cluster.idle_since_s) if cluster.idle_since_s else 0.0
    left_s = settings.idle_down_s - idle_s
    # The record's stamp is as old as the last tick; what is seen now may end it.
    ends = " until now; the next tick counts anew" if idle_s and not is_idle(snapshot, settings) else ""
    yield Condition(
        "idle long enough",
        bool(cluster.idle_since_s) and left_s <= 0,
        f"idle for {lasting(idle_s)} of {lasting(settings.idle_down_s)} (IDLE_DOWN_SEC){ends}",
    )
    yield _over("cool-down after the last action", cluster.last_scale_s, settings.cooldown_down_s, now_s)
    if settings.disruption.windows:
        yield Condition("a window", disruption_allowed(settings, now_s), windows(settings, now_s))
    there = len(serving(cluster, snapshot))
    yield Condition(
        "above the floor",
        there > settings.min_workers,
        f"{counted(there, 'worker is', 'workers are')} in service, MIN_WORKERS is {settings.min_workers}",
    )
    struck = len(unanswered(cluster, settings))
    yield Condition(
        "no notice unanswered",
        not struck,
        f"the cloud takes {counted(struck, 'worker')} back, and that is not answered yet"
        if struck
        else "none",
    )
    yield Condition("nothing troubles", not snapshot.troubles, "; ".join(snapshot.troubles) or "nothing")
    yield Condition("a node that may leave", may_leave > 0, f"{counted(may_leave, 'node')} may leave")


def _cost(snapshot: Snapshot, settings: Settings) -> Condition:
    """What one more costs depends on where it goes: the least that must be left is something."""
    usd, most = snapshot.usd_per_hour(), settings.usd_per_hour_max
    costs = f"it costs ${usd:.4f} an hour" if usd is not None else "what it costs is not known"
    return Condition(
        "cost ceiling",
        usd is None or usd < most,
        f"{costs}, and may cost {most:g} with what is added (USD_PER_HOUR_MAX)",
    )


def _no_action(cluster: Cluster) -> Condition:
    action = cluster.scale_up or cluster.scale_down
    return Condition(
        "no action in progress", action is None, f"action {action.action_id}" if action else "none"
    )


def _not_paused(cluster: Cluster, now_s: float) -> Condition:
    paused = is_paused(cluster, now_s)
    why = f" ({cluster.paused_why})" if cluster.paused_why else ""
    says = f"paused for {lasting(cluster.paused_until_s - now_s)} more{why}" if paused else "not paused"
    return Condition("not paused", not paused, says)


def _over(name: str, since_s: int, lasts_s: int, now_s: float) -> Condition:
    left_s = since_s + lasts_s - now_s if since_s else 0
    return Condition(
        name, left_s <= 0, f"{lasting(left_s)} of {lasting(lasts_s)} left" if left_s > 0 else "over"
    )


def _waiting(pods: int) -> str:
    return counted(pods, "pod waits for room", "pods wait for room")


def _percent(part: float | None) -> str:
    return "not known" if part is None else f"{100 * part:.0f} %"
