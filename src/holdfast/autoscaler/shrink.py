"""Removing nodes: plan, drain, condemn, terminate.

Rule 1: the floor is guarded where it can be broken, at each condemnation, against the
        newest record.  A look may be minutes old, so what the record knows outranks what
        was seen: a node that we removed stays in `gone` long after listings drop it.
Rule 2: a condemnation is written before the kill and never taken back.  Giving up, by
        an operator or by the clock, keeps only what is not condemned yet.  The condemned
        outlive their action: growth does not wait for a machine that takes long to die.
Rule 3: a cordon belongs to its action.  An action that ends takes nothing back, because
        a paused hand may cordon for it again later.  Whoever sees the cordon of an ended
        action first writes it down as a stray, then lifts it.  The write proves that no
        action began between reading the record and looking at the world; without it the
        "stray" might belong to an action begun in that moment.
Rule 4: a node that was kept is skipped for a while.  Otherwise a stale listing plans it,
        a fresh one keeps it, and it is drained for ever.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from holdfast.autoscaler.place import Node, empties_a_zone, leavers
from holdfast.autoscaler.ports import Drain, Drained, Effect, Seen, Terminate, Uncordon
from holdfast.autoscaler.record import Cluster, Condemned, ScaleDown, Skip, Status, Target, Tombstone
from holdfast.autoscaler.settings import Settings
from holdfast.kernel import FREE, Do, Done, Event, Happened, Outcome, Wait, Workflow, Write
from holdfast.kernel.write import EVENTS_MAX

Ahead = Write[Cluster] | Do[Effect] | Wait | Done
CONSOLE_MAX = 1_500
"""So much of what a machine printed is kept when it never joined."""
DRAIN_SLACK_S = 60
"""A drain that is out of time says so itself, with the pod that it waited for.  If nobody comes to
hear that, its time is up this much later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The settings that removing nodes needs; each is named as in the seeds, units last."""

    min_workers: int = 2
    pool_floors: tuple[tuple[str, int], ...] = ()
    max_batch_down: int = 1
    cooldown_down_s: int = 600
    drain_timeout_s: int = 300
    scale_down_stuck_s: int = 900
    skip_s: int = 900
    """How long a node that was kept is left alone."""
    remember_s: int = 600
    """How long removed instances are remembered: longer than a listing can lag."""


def policy_of(settings: Settings) -> Policy:
    return Policy(
        min_workers=settings.min_workers,
        pool_floors=tuple((pool.name, pool.min_workers) for pool in settings.pools),
        max_batch_down=settings.max_batch_down,
        cooldown_down_s=settings.cooldown_down_s,
        drain_timeout_s=settings.drain_timeout_s,
        scale_down_stuck_s=settings.scale_down_stuck_s,
        skip_s=settings.skip_s,
        remember_s=settings.remember_s,
    )


def workflow(policy: Policy) -> Workflow[Cluster, Seen, Effect]:
    return Workflow(
        step=lambda cluster, seen, now_s: step(cluster, seen, now_s, policy),
        settle=lambda cluster, effect, outcome, now_s: settle(cluster, effect, outcome, now_s, policy),
    )


def step(cluster: Cluster, seen: Seen, now_s: float, policy: Policy) -> Ahead:
    if cluster.scale_up is not None:
        return Wait(now_s + 60, f"scale-up {cluster.scale_up.action_id} is in progress")
    if cluster.scale_down is None:
        return tidy_up(cluster, seen, now_s) or begin(cluster, seen, now_s, policy)
    return proceed(cluster, cluster.scale_down, seen, now_s, policy)


def proceed(cluster: Cluster, action: ScaleDown, seen: Seen, now_s: float, policy: Policy) -> Ahead:
    if now_s - action.started_s > policy.scale_down_stuck_s:
        stuck = give_up(cluster, f"stuck for {now_s - action.started_s:.0f} s", now_s, policy)
        if stuck is not None:
            return stuck
    if action.having(Status.DRAINED):
        return _condemn(cluster, action, seen, now_s, policy)
    planned = action.having(Status.PLANNED)
    if planned and now_s - action.started_s > policy.drain_timeout_s + DRAIN_SLACK_S:
        why = f"not drained within {policy.drain_timeout_s} s"
        return give_up(cluster, why, now_s, policy) or Done()
    drains: tuple[Effect, ...] = tuple(Drain(instance_id, action.action_id) for instance_id in planned)
    kills = tuple(Terminate(instance_id) for instance_id in action.having(Status.CONDEMNED))
    return Do((*drains, *kills)) if drains or kills else end(cluster, now_s)


def settle(
    cluster: Cluster, effect: Effect, outcome: Outcome, now_s: float, policy: Policy
) -> Write[Cluster] | None:
    """Only what certainly happened is noted; everything else is simply done again."""
    if not isinstance(outcome, Happened):
        return None
    action = cluster.scale_down
    match effect:
        case Drain(instance_id, action_id) if action and action.action_id == action_id:
            return _drained(cluster, action, instance_id, outcome.answer, now_s, policy)
        case Terminate(instance_id) if cluster.is_condemned(instance_id):
            console = outcome.answer if isinstance(outcome.answer, str) else ""
            return _terminated(cluster, instance_id, console, now_s, policy)
        case Uncordon(instance_id, action_id):
            left = tuple(
                s for s in cluster.strays if (s.instance_id, s.action_id) != (instance_id, action_id)
            )
            if left != cluster.strays:
                lifted = Event("strayCordonLifted", now_s, about=instance_id, reason=action_id)
                return Write(replace(cluster, strays=left), (lifted,))
    return None


def give_up(cluster: Cluster, why: str, now_s: float, policy: Policy) -> Write[Cluster] | None:
    """Keep every target that is not condemned; None if there is none such."""
    action = cluster.scale_down
    kept = action.having(Status.PLANNED, Status.DRAINED) if action else ()
    kept = kept[:EVENTS_MAX]  # each is told: what is more is given up next
    if action is None or not kept:
        return None
    for instance_id in kept:
        action = action.moved(instance_id, Status.KEPT)
    given_up = replace(cluster, scale_down=action, skipped=_skipping(cluster, kept, why, now_s, policy))
    return Write(given_up, tuple(_kept(instance_id, why, now_s) for instance_id in kept))


def tidy_up(cluster: Cluster, seen: Seen, now_s: float) -> Write[Cluster] | Do[Effect] | None:
    if cluster.strays:
        return Do(tuple(Uncordon(stray.instance_id, stray.action_id) for stray in cluster.strays))
    strays = tuple(sorted(c for c in seen.cordons if not cluster.is_gone(c.instance_id)))[:EVENTS_MAX]
    if not strays:
        return None
    found = tuple(
        Event("strayCordonFound", now_s, about=stray.instance_id, reason=stray.action_id) for stray in strays
    )
    return Write(replace(cluster, strays=strays), found)


def begin(cluster: Cluster, seen: Seen, now_s: float, policy: Policy) -> Write[Cluster] | Wait | Done:
    staying = [node for node in seen.nodes if not _is_leaving(cluster, node.instance_id)]
    surplus = len(staying) - max(seen.wanted, policy.min_workers)
    if surplus <= 0:
        return Done()
    cool_s = cluster.last_scale_s + policy.cooldown_down_s
    if cluster.last_scale_s and now_s < cool_s:
        return Wait(cool_s, "cooling down after the last action")
    skipped = {skip.instance_id for skip in cluster.skipped if now_s < skip.until_s}
    may_leave = (
        {node.instance_id for node in staying} - skipped - seen.stay - _at_their_floor(staying, policy)
    )
    chosen = list(leavers(staying, may_leave=may_leave, count=min(surplus, policy.max_batch_down)))
    while chosen and seen.crowded(frozenset(node.instance_id for node in chosen)):
        chosen.pop()
    if not chosen:
        return Done()
    action = ScaleDown(
        action_id=f"{now_s:.0f}-{seen.me}",
        started_s=int(now_s),
        targets=tuple(Target(node.instance_id) for node in chosen),
    )
    begun = Event(
        "beginScaleDown",
        now_s,
        about=action.action_id,
        reason=" ".join(node.instance_id for node in chosen),
        numbers={"workers": len(staying), "wanted": seen.wanted, "minWorkers": policy.min_workers},
    )
    planned = replace(cluster, scale_down=action, worker_count=len(staying))
    return Write(planned, (begun,))


def _condemn(cluster: Cluster, action: ScaleDown, seen: Seen, now_s: float, policy: Policy) -> Write[Cluster]:
    """Condemn each drained target that may still leave, and keep the others."""
    need = max(seen.wanted, policy.min_workers)
    going = {*action.having(Status.CONDEMNED, Status.GONE), *(c.instance_id for c in cluster.condemned)}
    staying = {n.instance_id: n for n in seen.nodes if not _is_leaving(cluster, n.instance_id)}
    events: list[Event] = []
    skipped, condemned = cluster.skipped, cluster.condemned
    for instance_id in action.having(Status.DRAINED)[:EVENTS_MAX]:
        others = [n for n in staying.values() if n.instance_id not in going and n.instance_id != instance_id]
        node = staying.get(instance_id)
        in_zone = Counter(n.zone for n in [*others, *([node] if node else [])])
        if cluster.doom_of(instance_id) is not None:
            why = "the cloud takes it back"
        elif len(others) < need:
            why = f"{len(others)} would be left of {need} needed"
        elif node is not None and node.instance_id in _at_their_floor([node, *others], policy):
            why = f"pool {node.pool} would fall below its floor"
        elif node is not None and empties_a_zone(node, in_zone):
            why = f"the last one in zone {node.zone}"
        else:
            going.add(instance_id)
            action = action.moved(instance_id, Status.CONDEMNED)
            if not cluster.is_condemned(instance_id):  # somebody may have stopped it meanwhile
                condemned = (*condemned, Condemned(instance_id, action.action_id, "scale-down", int(now_s)))
            numbers = {"left": len(others), "needed": need}
            events.append(Event("condemned", now_s, about=instance_id, numbers=numbers))
            continue
        action = action.moved(instance_id, Status.KEPT)
        skipped = _skipping(replace(cluster, skipped=skipped), (instance_id,), why, now_s, policy)
        events.append(_kept(instance_id, why, now_s))
    written = replace(cluster, scale_down=action, skipped=skipped, condemned=condemned)
    return Write(written, tuple(events))


def _is_leaving(cluster: Cluster, instance_id: str) -> bool:
    return (
        cluster.is_gone(instance_id)
        or cluster.is_condemned(instance_id)
        or cluster.doom_of(instance_id) is not None
    )


def _at_their_floor(nodes: Iterable[Node], policy: Policy) -> set[str]:
    """Nodes of pools that have no more than they must have."""
    nodes = list(nodes)
    there, floors = Counter(node.pool for node in nodes), dict(policy.pool_floors)
    return {node.instance_id for node in nodes if there[node.pool] <= floors.get(node.pool, 0)}


def _drained(
    cluster: Cluster, action: ScaleDown, instance_id: str, answer: object, now_s: float, policy: Policy
) -> Write[Cluster] | None:
    if instance_id not in action.having(Status.PLANNED):
        return None
    blocked_by = answer.blocked_by if isinstance(answer, Drained) else ""
    if isinstance(answer, Drained) and answer.left and not blocked_by:
        if now_s - action.started_s <= policy.drain_timeout_s:
            return None  # the next round goes on
        blocked_by = f"not drained within {policy.drain_timeout_s} s: {answer.waiting_for}"
    if blocked_by:
        kept = action.moved(instance_id, Status.KEPT)
        skipped = _skipping(cluster, (instance_id,), blocked_by, now_s, policy)
        event = _kept(instance_id, blocked_by, now_s)
        return Write(replace(cluster, scale_down=kept, skipped=skipped), (event,))
    drained = replace(cluster, scale_down=action.moved(instance_id, Status.DRAINED))
    return Write(drained, (Event("drained", now_s, about=instance_id),))


def _terminated(
    cluster: Cluster, instance_id: str, console: str, now_s: float, policy: Policy
) -> Write[Cluster]:
    remembered = tuple(stone for stone in cluster.gone if now_s - stone.at_s < policy.remember_s)
    action = cluster.scale_down
    done = replace(
        cluster,
        scale_down=action.without(instance_id) if action else None,
        condemned=tuple(c for c in cluster.condemned if c.instance_id != instance_id),
        gone=(*remembered, Tombstone(instance_id, int(now_s))),
    )
    kind = action.tells_end(instance_id) if action else "terminated"
    printed = f"its console ended with: {console[-CONSOLE_MAX:]}" if console else ""
    return Write(done, (Event(kind, now_s, about=instance_id, reason=printed),))


def end(cluster: Cluster, now_s: float) -> Write[Cluster]:
    """Nothing of the plan may still be kept: cool down if anything left, and clear the fields.

    What is condemned and not yet gone stays in the record, and goes on dying without the action.
    """
    action = cluster.scale_down
    assert action is not None, "there is nothing to end"
    assert not action.having(Status.PLANNED, Status.DRAINED), action
    left = action.having(Status.GONE, Status.CONDEMNED)
    ended = replace(
        cluster,
        scale_down=None,
        lock=FREE,
        last_scale_s=int(now_s) if left else cluster.last_scale_s,
        worker_count=max(0, cluster.worker_count - len(left)),
    )
    kind = "completeScaleDown" if left else "failScaleDown"
    numbers = {"removed": len(left), "planned": len(action.targets)}
    return Write(ended, (Event(kind, now_s, about=action.action_id, numbers=numbers),))


def _skipping(
    cluster: Cluster, kept: tuple[str, ...], why: str, now_s: float, policy: Policy
) -> tuple[Skip, ...]:
    still = tuple(s for s in cluster.skipped if now_s < s.until_s and s.instance_id not in kept)
    return (*still, *(Skip(instance_id, why, int(now_s) + policy.skip_s) for instance_id in kept))


def _kept(instance_id: str, why: str, now_s: float) -> Event:
    return Event("kept", now_s, about=instance_id, reason=why)
