"""Whether to scale up, to scale down or to hold, and why.

Rule 1: no data is not zero.  What could not be measured holds, with the reason.
Rule 2: below the floor the fleet scales up without any cool-down, in any pool that has room.  A pool whose
        scale-ups failed backs off alone, because a launch storm repairs nothing.
Rule 3: pods that no new node would help are no reason to scale up, and none against scaling down.  Which
        workers are idle is judged pool by pool.
Rule 4: an operator who pauses stops what would begin, never what repairs.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from holdfast.autoscaler.disruption.consolidation import disruption_allowed, removable
from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.fleet import on_its_way, possible_size, serving, size, size_of_pool, without_node
from holdfast.autoscaler.interruption import unanswered
from holdfast.autoscaler.operator import is_paused
from holdfast.autoscaler.reasons import Reason
from holdfast.autoscaler.record import Cluster, PoolIdle, Purpose
from holdfast.autoscaler.scale_down.idle import idle_for_long, idle_pools, idle_since
from holdfast.autoscaler.scale_up.pool_failures import is_sound
from holdfast.autoscaler.scale_up.spread import spread
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Need, Snapshot, Worker
from holdfast.cloud.text import lasting
from holdfast.kernel import Event, Write

UNSEEN_MAX_S: Final = 60.0
"""So long may pods have waited before a tick first saw one of them."""


@dataclass(frozen=True, slots=True)
class Hold:
    word: ClassVar = "hold"
    code: Reason
    why: str
    until_s: float = 0.0
    """When another decision is due though nothing has changed; 0: at no known time."""


@dataclass(frozen=True, slots=True)
class AddWorkers:
    word: ClassVar = "scale-up"
    needs: tuple[Need, ...]
    code: Reason
    why: str


@dataclass(frozen=True, slots=True)
class RemoveWorkers:
    word: ClassVar = "scale-down"
    code: Reason = Reason.WORKERS_IDLE
    why: str = "the workers are idle"
    pools: frozenset[str] = frozenset()
    """Those that are idle for long enough."""
    workers: frozenset[str] = frozenset()
    """One of these leaves, and no other, where any is named: see `disruption.consolidation`."""
    otherwise: Hold | None = None
    """What is decided where none of them may leave."""


Decision = Hold | AddWorkers | RemoveWorkers


def decide(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Decision:
    missing = below_floor(cluster, snapshot, settings, now_s)
    if missing:
        return _of_sound_pools(AddWorkers(missing, Reason.BELOW_FLOOR, "below the floor"), cluster, now_s)
    if is_paused(cluster, now_s):
        return Hold(Reason.PAUSED, f"paused: {cluster.paused_why}" if cluster.paused_why else "paused")
    held: Hold | None = None
    for wish in (_for_pods, _for_spare, _for_load):
        wanted = wish(cluster, snapshot, settings, now_s)
        if isinstance(wanted, AddWorkers):
            return wanted
        held = held or wanted
    # What one pool waits for keeps no idle worker of another: at the greatest size neither would ever move.
    scale_down = _scaling_down(cluster, snapshot, settings, now_s)
    if not isinstance(scale_down, Hold):
        return scale_down
    return consolidating(cluster, snapshot, settings, now_s, held or scale_down)


def consolidating(
    cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float, otherwise: Hold
) -> Decision:
    """A node that need not be there leaves, however busy the others are."""
    found = removable(cluster, snapshot, settings, now_s)
    if isinstance(found, str):
        return otherwise
    return RemoveWorkers(
        found.code, f"consolidation: {found.why}", workers=found.instance_ids, otherwise=otherwise
    )


def below_floor(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> tuple[Need, ...]:
    """What is missing to the least number of workers, by pool.  Beyond the pools' own floors any will do.

    A machine that lives without a node is none of them.  With many at once the list of nodes may be wrong,
    and all of them may serve.  To launch harms none, so the floor is made good as far as the maximum leaves
    room beside them.
    """
    lost = Counter(worker.instance.pool for worker in _left_the_floor(cluster, snapshot))
    needs = [
        Need(pool.name, pool.min_workers - there, "below the pool's floor", purpose=Purpose.REPAIR)
        for pool in settings.pools
        if (there := size_of_pool(cluster, snapshot, pool.name) - lost[pool.name]) < pool.min_workers
    ]
    there = size(cluster, snapshot) - lost.total()
    missing = settings.min_workers - there - sum(need.count for need in needs)
    if missing > 0:
        beside = Counter({need.pool: need.count for need in needs})
        needs += [
            Need(pool, count, "below the floor", purpose=Purpose.REPAIR)
            for pool, count in spread(missing, cluster, snapshot, settings, now_s, beside).items()
        ]
    return _within(settings.max_workers - size(cluster, snapshot), needs) if snapshot.doubts else tuple(needs)


def _left_the_floor(cluster: Cluster, snapshot: Snapshot) -> tuple[Worker, ...]:
    """Machines that live without a node; but none where no node of ours is listed and a listing is in doubt,
    because new ones would not be listed either."""
    listed = any(worker.node_name for worker in snapshot.workers)
    return without_node(cluster, snapshot) if listed or not snapshot.doubts else ()


def _within(room: int, needs: Sequence[Need]) -> tuple[Need, ...]:
    within: list[Need] = []
    for need in needs:
        count = min(need.count, room)
        if count > 0:
            within.append(replace(need, count=count))
            room -= count
    return tuple(within)


def _for_pods(
    cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float
) -> AddWorkers | Hold | None:
    if not snapshot.pending:
        return None
    waited_s = pending_for_s(cluster, snapshot, settings, now_s)
    if waited_s < settings.pending_up_s:
        so_far = f"pods are pending for {lasting(waited_s)} of {lasting(settings.pending_up_s)}"
        over_s = now_s + settings.pending_up_s - waited_s
        return Hold(Reason.PENDING_TOO_SHORT, f"no scale-up yet: {so_far}", over_s)
    needs = snapshot.needs(on_its_way(cluster, snapshot))
    if not needs:
        return Hold(Reason.CAPACITY_ON_ITS_WAY, "workers on their way will take the pending pods")
    return _within_bounds(
        AddWorkers(needs, Reason.PODS_PENDING, "pods are pending"), cluster, snapshot, settings, now_s
    )


def pending_for_s(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> float:
    """Since pods were first seen to wait; or for as long as one of them has waited by its own condition, if
    that is longer.

    The condition adds a minute at most: a tick a minute would have seen the pod before.  What is older waited
    for something else, such as its gates; and the clock is another's.
    """
    # Without a stamp they have only just been seen; the stamp is written with the decision.
    seen_s = _since(cluster.pending_since_s or now_s, now_s)
    if seen_s >= settings.pending_up_s:
        return seen_s
    return max(seen_s, min(_since(snapshot.pending_since_s(), now_s), seen_s + UNSEEN_MAX_S))


def _for_spare(
    cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float
) -> AddWorkers | Hold | None:
    """Room for pods to come.  While pods wait, these come first, and what they need includes it."""
    if snapshot.pending or not any(pool.spare for pool in settings.pools):
        return None
    needs = snapshot.needs(on_its_way(cluster, snapshot))
    if not needs:
        return None
    short = AddWorkers(needs, Reason.SPARE_SHORT, "the room for pods to come is short")
    return _within_bounds(short, cluster, snapshot, settings, now_s)


def _for_load(
    cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float
) -> AddWorkers | Hold | None:
    if snapshot.load.cpu is None or snapshot.load.cpu <= settings.cpu_up:
        return None
    if on_its_way(cluster, snapshot):
        return Hold(Reason.CAPACITY_ON_ITS_WAY, "the workers are busy, and another is on its way")
    chosen = spread(1, cluster, snapshot, settings, now_s, tainted=False)
    needs = tuple(Need(pool, count, "busy") for pool, count in chosen.items())
    return _within_bounds(
        AddWorkers(needs, Reason.WORKERS_BUSY, "the workers are busy"), cluster, snapshot, settings, now_s
    )


def _within_bounds(
    scale_up: AddWorkers, cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float
) -> AddWorkers | Hold:
    if _since(cluster.last_up_s, now_s) < settings.cooldown_up_s and cluster.last_up_s:
        return Hold(
            Reason.SCALE_UP_COOLING_DOWN,
            "more workers are wanted: cooling down after the last scale-up",
            until_s=cluster.last_up_s + settings.cooldown_up_s,
        )
    room = min(settings.max_workers - possible_size(cluster, snapshot), settings.max_batch_up)
    if room <= 0:
        return Hold(Reason.AT_MAXIMUM, "more workers are wanted: the fleet has its maximum size")
    needs: list[Need] = []
    full: list[str] = []
    # A pool that backs off takes no room from one that does not.
    for need in sorted(scale_up.needs, key=lambda need: not is_sound(cluster, need.pool, now_s)):
        pool = settings.pool(need.pool)
        most = pool.max_workers - size_of_pool(cluster, snapshot, need.pool) if pool else 0
        count = min(need.count, most, room)
        if count > 0:
            needs.append(replace(need, count=count))
            room -= count
        elif most <= 0:
            full.append(need.pool)
    if not needs:
        pools = f"pool {', '.join(dict.fromkeys(full))}" if full else "the fleet"
        return Hold(Reason.AT_MAXIMUM, f"more workers are wanted: {pools} has its maximum size")
    return _of_sound_pools(AddWorkers(tuple(needs), scale_up.code, scale_up.why), cluster, now_s)


def _of_sound_pools(scale_up: AddWorkers, cluster: Cluster, now_s: float) -> AddWorkers | Hold:
    sound = tuple(need for need in scale_up.needs if is_sound(cluster, need.pool, now_s))
    if sound:
        return AddWorkers(sound, scale_up.code, scale_up.why)
    pools = ", ".join(named := dict.fromkeys(need.pool for need in scale_up.needs))
    why = f"more workers are wanted ({scale_up.why}): pool {pools} is backing off after failed scale-ups"
    ends_s = (failure.until_s for failure in cluster.pool_failures if failure.pool in named)
    return Hold(Reason.BACKING_OFF, why, until_s=min(ends_s, default=0.0))


def _scaling_down(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Decision:
    if snapshot.load.cpu is None:
        return Hold(Reason.LOAD_UNKNOWN, f"the load is not known: {snapshot.load.problem}")
    idle = idle_pools(snapshot, settings)
    if not idle:
        return Hold(Reason.NEITHER_BUSY_NOR_IDLE, "the workers are neither busy nor idle")
    idle_s = max(_since(idle_since(cluster, pool) or now_s, now_s) for pool in idle)
    long_enough = idle_for_long(cluster, snapshot, settings, now_s)
    if not long_enough:
        so_far = f"idle for {lasting(idle_s)} of {lasting(settings.idle_down_s)}"
        return Hold(Reason.IDLE_TOO_SHORT, f"no scale-down yet: {so_far}")
    if not disruption_allowed(settings, now_s):
        return Hold(Reason.OUTSIDE_WINDOW, "idle, but no window for disruption is open")
    if snapshot.troubles:
        return Hold(Reason.TROUBLE, f"idle, but no worker leaves while {snapshot.troubles[0]}")
    if unanswered(cluster, settings):
        return Hold(Reason.INTERRUPTED_FIRST, "idle, but no worker leaves while the cloud takes others back")
    if cluster.last_scale_s and _since(cluster.last_scale_s, now_s) < settings.cooldown_down_s:
        return Hold(Reason.SCALE_DOWN_COOLING_DOWN, "idle: cooling down after the last action")
    if len(serving(cluster, snapshot)) <= settings.min_workers:
        return Hold(Reason.AT_MINIMUM, "idle: the fleet has its minimum size")
    return RemoveWorkers(pools=long_enough)


def is_idle(snapshot: Snapshot, settings: Settings) -> bool:
    """Whether any pool is."""
    return bool(idle_pools(snapshot, settings))


def _since(stamp_s: float, now_s: float) -> float:
    """Clocks differ: a stamp from the future is one from now."""
    return max(0.0, now_s - stamp_s)


def book(
    cluster: Cluster, snapshot: Snapshot, decision: Decision, settings: Settings, now_s: float
) -> Write[Cluster] | None:
    """Write down what this look changes: since when, how many, and why nothing is done.

    None if nothing changed: a Hold that wrote at every tick would make ticks fight.
    """
    noted = replace(
        cluster,
        pending_since_s=_stamp(cluster.pending_since_s, snapshot.pending > 0, now_s),
        **_idle_stamps(cluster, snapshot, settings, now_s),
        last_scale_s=min(cluster.last_scale_s, int(now_s)),
        last_up_s=min(cluster.last_up_s, int(now_s)),
        worker_count=len(serving(cluster, snapshot)),
        hold_code=decision.code if isinstance(decision, Hold) else "",
        hold_reason=decision.why if isinstance(decision, Hold) else "",
    )
    if replace(noted, hold_reason=cluster.hold_reason) == cluster:
        return None
    return Write(noted, (decision_event(noted, snapshot, decision, now_s),))


def stamp(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Write[Cluster] | None:
    """While an action is open only the since-stamps move: pods that wait for room wait from now on."""
    noted = replace(
        cluster,
        pending_since_s=_stamp(cluster.pending_since_s, snapshot.pending > 0, now_s),
        **_idle_stamps(cluster, snapshot, settings, now_s),
    )
    if noted == cluster:
        return None
    what = "pending" if noted.pending_since_s else "idle" if noted.idle_since_s else "neither"
    words = {"pending": "pods wait for room", "idle": "the workers are idle", "neither": "busy enough"}
    return Write(noted, (Event(AutoscalerEvent.CONDITION_CHANGED, now_s, about=what, reason=words[what]),))


def decision_event(cluster: Cluster, snapshot: Snapshot, decision: Decision, now_s: float) -> Event:
    """What was known when it was decided."""
    numbers: dict[str, float] = {
        "workers": len(serving(cluster, snapshot)),
        "size": size(cluster, snapshot),
        "pending": snapshot.pending,
        "unsatisfiable": len(snapshot.unsatisfiable),
    }
    if snapshot.load.cpu is not None:
        numbers["cpu"] = round(snapshot.load.cpu, 4)
    if (usd := snapshot.usd_per_hour()) is not None:
        numbers["usdPerHour"] = round(usd, 4)
    return Event(
        AutoscalerEvent.DECISION,
        now_s,
        about=decision.word,
        reason=decision.why,
        numbers=numbers,
        code=decision.code,
    )


def _idle_stamps(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> dict[str, Any]:
    """Of the fleet, as the seeds have it; and of each pool, where there are several."""
    idle = idle_pools(snapshot, settings)
    stamps: dict[str, Any] = {"idle_since_s": _stamp(cluster.idle_since_s, bool(idle), now_s)}
    if len(settings.pools) > 1:
        stamps["pools_idle"] = tuple(
            PoolIdle(pool, _stamp(idle_since(cluster, pool), True, now_s)) for pool in idle
        )
    return stamps


def _stamp(stamp_s: int, holds: bool, now_s: float) -> int:
    if not holds:
        return 0
    return min(stamp_s, int(now_s)) or int(now_s)
