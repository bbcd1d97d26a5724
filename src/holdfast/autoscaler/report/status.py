"""What it is doing, why, and what it costs an hour: one record and one look, summed up for people."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from holdfast.autoscaler import identity
from holdfast.autoscaler.decide import AddWorkers, Decision
from holdfast.autoscaler.fleet import is_leaving, serving, size, staying, unlisted, without_node
from holdfast.autoscaler.operator import mode
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.report.by_choice import consolidation, rotation_of
from holdfast.autoscaler.report.doing import Action, doing, open_action
from holdfast.autoscaler.report.gauges import launched_last_hour, refused_to_end, state_of
from holdfast.autoscaler.scale_down.action import lift_protection
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot, Worker
from holdfast.autoscaler.workflow import conclude
from holdfast.cloud import NoticeKind, Offering, State


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
    """`scale-up`, `scale-down` or `hold`."""
    code: str
    """A stable code of the reason; `why` says it in words."""
    action: Action | None
    serving: int
    size: int
    starting: int
    """Workers that were asked for and do not serve yet; none of them is counted as serving too."""
    not_ready: int
    """Workers that had joined, and whose node does not answer."""
    without_node: int
    """Machines that live, and whose node is gone or never came: none is on its way."""
    min_workers: int
    max_workers: int
    workers: tuple[Member, ...]
    unschedulable: int
    """Pods for which the scheduler finds no node."""
    pending: int
    """Those of them that a new worker would take."""
    unsatisfiable: tuple[str, ...]
    unhelped: tuple[str, ...]
    """Pods for which a new node came in vain."""
    cpu: float | None
    cpu_peak: float | None
    cpu_source: str
    cpu_problem: str
    usd_per_hour: float | None
    unpriced: tuple[str, ...]
    """Offerings in use whose price is not known."""
    consolidation: str
    """What consolidation would do, or why it does nothing."""
    rotation: str
    """Which worker is replaced by choice, or why none is."""
    launches_last_hour: int
    launches_per_hour_max: int
    soon: tuple[Soon, ...]
    troubles: tuple[str, ...]
    problems: tuple[str, ...]
    """What an operator must mend, each with the fix."""
    lock_owner: str
    lock_left_s: int
    """So long does the lock still hold."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def status(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Status:
    action = open_action(cluster, now_s)
    decision = conclude(cluster, snapshot, settings, now_s)
    owner, left_s = holder_of_lock(cluster, now_s)
    return Status(
        cluster=settings.cluster_name,
        mode=mode(cluster, observe=settings.observe, now_s=now_s),
        doing=doing(cluster, action),
        why=action.why if action else decision.why,
        decision=decision.word,
        code=decision.code,
        action=action,
        serving=len(serving(cluster, snapshot)),
        size=size(cluster, snapshot),
        starting=_starting(cluster, snapshot),
        not_ready=sum(_is_not_ready(worker) for worker in staying(cluster, snapshot)),
        without_node=len(without_node(cluster, snapshot)),
        min_workers=settings.min_workers,
        max_workers=settings.max_workers,
        workers=tuple(_members(cluster, snapshot, now_s)),
        unschedulable=max(snapshot.unschedulable, snapshot.pending),
        pending=snapshot.pending,
        unsatisfiable=snapshot.unsatisfiable,
        cpu=snapshot.load.cpu,
        cpu_peak=snapshot.load.peak,
        cpu_source=snapshot.load.source,
        cpu_problem=snapshot.load.problem if snapshot.load.cpu is None else "",
        usd_per_hour=snapshot.usd_per_hour(),
        unpriced=_unpriced(snapshot),
        consolidation=consolidation(cluster, snapshot, settings, now_s),
        rotation=rotation_of(cluster, snapshot, settings, now_s),
        launches_last_hour=launched_last_hour(cluster, now_s),
        launches_per_hour_max=settings.launch_budget,
        soon=tuple(to_come(_without_gone(cluster, snapshot), settings, decision, now_s)),
        unhelped=tuple(f"{pods}: {why}" for pods, why in snapshot.unhelped.items()),
        troubles=_troubles(cluster, snapshot),
        problems=problems(cluster, snapshot),
        lock_owner=owner,
        lock_left_s=left_s,
    )


def holder_of_lock(cluster: Cluster, now_s: float) -> tuple[str, int]:
    """Who holds it, and for how many seconds more; no one and 0 if it is free or has run out."""
    left_s = _seconds(cluster.lock.until_s - now_s)
    held = bool(cluster.lock.owner) and now_s < cluster.lock.until_s
    return (cluster.lock.owner, left_s) if held else ("", 0)


def _troubles(cluster: Cluster, snapshot: Snapshot) -> tuple[str, ...]:
    refusal = identity.refusal(cluster, snapshot.cluster_uid)
    return (refusal, *snapshot.troubles) if refusal else snapshot.troubles


def problems(cluster: Cluster, snapshot: Snapshot) -> tuple[str, ...]:
    """What an operator must mend."""
    protected = (
        f"EC2 refuses to end {i}: {lift_protection(i)}, or grant ec2:TerminateInstances on it"
        for i in refused_to_end(cluster)
    )
    return (*protected, *snapshot.problems)


def _starting(cluster: Cluster, snapshot: Snapshot) -> int:
    """Each machine once: one that serves already is not starting, though its action may not know yet."""
    ready = {worker.instance_id for worker in serving(cluster, snapshot)}
    up = cluster.scale_up
    seen = {w.instance_id for w in staying(cluster, snapshot) if w.ours and (w.joining or not w.node_name)}
    seen |= {i for i in (up.joining if up else ()) if not is_leaving(cluster, i)}
    seen -= {w.instance_id for w in without_node(cluster, snapshot)}
    return len((seen | set(unlisted(cluster, snapshot))) - ready) + (up.owed if up else 0)


def _is_not_ready(worker: Worker) -> bool:
    return bool(worker.node_name) and not worker.joining and not worker.ready


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


def _without_gone(cluster: Cluster, snapshot: Snapshot) -> Cluster:
    """What was kept, and has gone since, is not tried again."""
    gone = {worker.instance_id for worker in snapshot.workers if not worker.alive}
    skipped = (skip for skip in cluster.skipped if skip.instance_id not in gone)
    return replace(cluster, skipped=tuple(skip for skip in skipped if not cluster.is_gone(skip.instance_id)))


def to_come(cluster: Cluster, settings: Settings, decision: Decision | None, now_s: float) -> list[Soon]:
    """What is still to come, soonest first."""
    found = [
        Soon(_seconds(cluster.paused_until_s - now_s), "the pause ends", cluster.paused_why),
        *(
            Soon(_seconds(one.until_s - now_s), f"pool {one.pool} is tried again", one.reason)
            for one in cluster.pool_failures
        ),
        *(
            Soon(
                _seconds(affected.deadline_s - now_s),
                f"{affected.instance_id} is taken back",
                affected.kind.value,
            )
            for affected in cluster.interrupted
            if affected.kind is not NoticeKind.REPLACE
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
