"""What it is doing, why, and what it costs an hour: one record and one look, summed up for people."""

from dataclasses import asdict, dataclass
from typing import Any

from holdfast.autoscaler.codec import phase
from holdfast.autoscaler.decide import AddWorkers, Decision
from holdfast.autoscaler.fleet import on_its_way, serving, size
from holdfast.autoscaler.operator import is_paused
from holdfast.autoscaler.record import Cluster, ScaleDown, ScaleUp
from holdfast.autoscaler.report.gauges import launched_last_hour, state_of
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.workflow import conclude
from holdfast.cloud import Offering, State


@dataclass(frozen=True, slots=True)
class Action:
    """The open action."""

    direction: str
    action_id: str
    lasted_s: int
    why: str
    progress: str
    """In words: how far it has come."""


@dataclass(frozen=True, slots=True)
class Member:
    """One worker."""

    instance_id: str
    node: str
    pool: str
    zone: str
    instance_type: str
    market: str
    state: str
    age_s: int
    usd_per_hour: float | None


@dataclass(frozen=True, slots=True)
class Soon:
    """What happens by itself after a while: a pause ends, a notice comes true."""

    in_s: int
    what: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    cluster: str
    mode: str
    """`active`, `paused` or `observe`."""
    doing: str
    why: str
    decision: str
    code: str
    """A stable code of the reason; `why` says it in words."""
    """`scale up`, `scale down` or `hold`."""
    action: Action | None
    serving: int
    size: int
    on_its_way: int
    min_workers: int
    max_workers: int
    workers: tuple[Member, ...]
    pending: int
    unsatisfiable: tuple[str, ...]
    cpu: float | None
    cpu_peak: float | None
    cpu_source: str
    cpu_problem: str
    usd_per_hour: float | None
    unpriced: tuple[str, ...]
    """Offerings in use whose price is not known."""
    launches_last_hour: int
    launches_per_hour_max: int
    soon: tuple[Soon, ...]
    troubles: tuple[str, ...]
    lock_owner: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def status(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Status:
    action = _action(cluster, now_s)
    decision = conclude(cluster, snapshot, settings, now_s)
    paused = is_paused(cluster, now_s)
    return Status(
        cluster=settings.cluster_name,
        mode="observe" if settings.observe else "paused" if paused else "active",
        doing=_doing(cluster, action),
        why=action.why if action else decision.why,
        decision=decision.word,
        code=decision.code,
        action=action,
        serving=len(serving(cluster, snapshot)),
        size=size(cluster, snapshot),
        on_its_way=on_its_way(cluster, snapshot),
        min_workers=settings.min_workers,
        max_workers=settings.max_workers,
        workers=tuple(_members(cluster, snapshot, now_s)),
        pending=snapshot.pending,
        unsatisfiable=snapshot.unsatisfiable,
        cpu=snapshot.load.cpu,
        cpu_peak=snapshot.load.peak,
        cpu_source=snapshot.load.source,
        cpu_problem=snapshot.load.problem if snapshot.load.cpu is None else "",
        usd_per_hour=snapshot.usd_per_hour(),
        unpriced=_unpriced(snapshot),
        launches_last_hour=launched_last_hour(cluster, now_s),
        launches_per_hour_max=settings.launch_budget,
        soon=tuple(_soon(cluster, settings, decision, now_s)),
        troubles=snapshot.troubles,
        lock_owner=cluster.lock.owner if now_s < cluster.lock.until_s else "",
    )


def _doing(cluster: Cluster, action: Action | None) -> str:
    doing = (
        [f"{'scaling up' if action.direction == 'up' else 'scaling down'}: {action.progress}"]
        if action
        else []
    )
    if cluster.interrupted:
        replaced = sum(bool(affected.replacement) for affected in cluster.interrupted)
        doing.append(f"{len(cluster.interrupted)} with a notice, {replaced} of them answered")
    if cluster.condemned:
        doing.append(f"{len(cluster.condemned)} being terminated")
    return "; ".join(doing) or "nothing"


def _action(cluster: Cluster, now_s: float) -> Action | None:
    if (up := cluster.scale_up) is not None:
        return Action("up", up.action_id, _seconds(now_s - up.started_s), up.reason, _scale_up(up))
    if (down := cluster.scale_down) is not None:
        return Action(
            "down",
            down.action_id,
            _seconds(now_s - down.started_s),
            "the workers are idle",
            _scale_down(down),
        )
    return None


def _scale_up(up: ScaleUp) -> str:
    launched = len(up.instance_ids)
    lost = f", {len(up.lost)} lost" if up.lost else ""
    return f"{up.requested} requested, {launched} launched, {len(up.joined)} joined{lost}"


def _scale_down(down: ScaleDown) -> str:
    targets = ", ".join(f"{target.instance_id} {target.status.value}" for target in down.targets)
    return f"{phase(down)}, {targets}"


def _members(cluster: Cluster, snapshot: Snapshot, now_s: float) -> list[Member]:
    return sorted(
        (
            Member(
                instance_id=worker.instance_id,
                node=worker.node_name,
                pool=worker.instance.pool,
                zone=worker.instance.zone,
                instance_type=worker.instance.instance_type,
                market=worker.instance.market.value,
                state=state_of(cluster, worker),
                age_s=_seconds(now_s - worker.instance.launched_s) if worker.instance.launched_s else 0,
                usd_per_hour=snapshot.prices.usd(_offering(worker.instance)) if worker.alive else 0.0,
            )
            for worker in snapshot.workers
            # EC2 lists what is over for an hour more.
            if worker.instance.state is not State.TERMINATED
        ),
        key=lambda member: (member.pool, member.zone, -member.age_s, member.instance_id),
    )


def _offering(instance: Any) -> Offering:
    return Offering(instance.zone, instance.market, instance.instance_type)


def _unpriced(snapshot: Snapshot) -> tuple[str, ...]:
    used = {_offering(worker.instance) for worker in snapshot.workers if worker.alive}
    return tuple(sorted(str(offering) for offering in used if snapshot.prices.usd(offering) is None))


def _soon(cluster: Cluster, settings: Settings, decision: Decision, now_s: float) -> list[Soon]:
    """What is still to come, soonest first."""
    found = [
        Soon(_seconds(cluster.paused_until_s - now_s), "the pause ends", cluster.paused_why),
        Soon(
            _seconds(cluster.back_off_until_s - now_s),
            "launching is tried again",
            f"{cluster.failures} scale-ups in a row failed",
        ),
        *(
            Soon(
                _seconds(affected.deadline_s - now_s),
                f"{affected.instance_id} is taken back",
                affected.kind.value,
            )
            for affected in cluster.interrupted
        ),
        *(
            Soon(_seconds(skip.until_s - now_s), f"{skip.instance_id} may be tried again", skip.reason)
            for skip in cluster.skipped
        ),
        *(
            Soon(_seconds(each.until_s - now_s), f"{each.offering} may be asked for again", each.reason)
            for each in cluster.unavailable
        ),
    ]
    if cluster.last_scale_s:
        left_s = cluster.last_scale_s + settings.cooldown_down_s - now_s
        found.append(Soon(_seconds(left_s), "it may scale down again", "cool-down after the last action"))
    if cluster.last_up_s and not isinstance(decision, AddWorkers):
        left_s = cluster.last_up_s + settings.cooldown_up_s - now_s
        found.append(Soon(_seconds(left_s), "it may scale up again", "cool-down after the last scale-up"))
    return sorted((each for each in found if each.in_s > 0), key=lambda each: each.in_s)


def _seconds(value: float) -> int:
    return max(0, round(value))
