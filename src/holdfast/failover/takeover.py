"""Taking over: revoke, wait, promote.

Rule 1: first a commit that ends the old primary's epoch.  From then on no lease of that
        epoch can be granted, because each grant is made WHERE epoch AND primary.
Rule 2: then the old lease must have run out, or the old primary has said that it stopped.
        The lease is looked at *after* the record that ended the epoch was read, so a grant
        that slipped in before the revocation is still seen and waited for.
Rule 3: then the promotion, under the epoch that the revocation began.

An agent counts its lease from the moment it sent the heartbeat, the database from the
moment it stored it, which is later, and keeps it a little longer than it granted it: when
the lease is out here, it is out there.  That needs clocks that run at about the same rate
(`Term.clock_rate_margin`), not clocks that agree.
"""

from dataclasses import dataclass, replace

from holdfast.failover.events import FailoverEvent
from holdfast.failover.group import Group, Takeover
from holdfast.failover.ports import Effect, Fence, Seen
from holdfast.failover.roles import Move
from holdfast.kernel import Do, Done, Event, Happened, Outcome, Wait, Workflow, Write

Ahead = Write[Group] | Do[Effect] | Wait | Done


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    look_again_s: float = 1.0
    """How long to wait when only the world can change something."""
    grace_s: float = 60.0
    """How long a new primary may take to ask for its first lease.  It only saves
    needless takeovers: a primary that is replaced too early is replaced safely."""


def workflow(policy: Policy) -> Workflow[Group, Seen, Effect]:
    return Workflow(step=lambda group, seen, now_s: step(group, seen, now_s, policy), settle=settle)


def step(group: Group, seen: Seen, now_s: float, policy: Policy) -> Ahead:
    if group.takeover is not None:
        return _take_over(group, group.takeover, seen, now_s, policy)
    primary = group.primary
    if primary is None:
        return _promote(group, seen, now_s, "no primary yet") or Wait(
            now_s + policy.look_again_s, "no primary, and no replica is ready"
        )
    if primary in seen.interrupted:
        why = "termination notice"
    elif seen.leases_left_s.get(primary, 0) <= 0 and now_s >= group.since_s + policy.grace_s:
        why = "lease ran out"
    else:
        return Done()
    if not _candidates(group, seen):
        return Wait(now_s + policy.look_again_s, f"{why}, but no replica is ready")
    return _revoke(group, primary, why, now_s)


def settle(group: Group, effect: Effect, outcome: Outcome, now_s: float) -> Write[Group] | None:
    takeover = group.takeover
    if takeover is None or takeover.old != effect.instance_id or group.epoch != effect.ended_epoch + 1:
        return None  # news of an earlier takeover
    if outcome == Happened(True) and not takeover.fenced:
        stopped = replace(group, takeover=replace(takeover, asked=True, fenced=True))
        return Write(stopped, (Event(FailoverEvent.FENCED, now_s, about=effect.instance_id),))
    if not takeover.asked:
        silent = replace(group, takeover=replace(takeover, asked=True))
        return Write(
            silent, (Event(FailoverEvent.NOT_FENCED, now_s, about=effect.instance_id, reason=str(outcome)),)
        )
    return None


def _take_over(group: Group, takeover: Takeover, seen: Seen, now_s: float, policy: Policy) -> Ahead:
    left_s = seen.leases_left_s.get(takeover.old, 0)
    if not takeover.fenced and left_s > 0:
        if not takeover.asked:
            return Do((Fence(takeover.old, group.epoch - 1),))
        return Wait(now_s + left_s, f"the lease of {takeover.old} runs out")
    return _promote(group, seen, now_s, takeover.reason) or Wait(
        now_s + policy.look_again_s, f"{takeover.old} is out, and no replica is ready"
    )


def _revoke(group: Group, primary: str, why: str, now_s: float) -> Write[Group]:
    revoked = replace(group.move(primary, Move.SUPERSEDED), epoch=group.epoch + 1)
    revoked = replace(revoked, takeover=Takeover(primary, why, now_s))
    return Write(
        revoked,
        (Event(FailoverEvent.REVOKED, now_s, about=primary, reason=why, numbers={"epoch": group.epoch}),),
    )


def _promote(group: Group, seen: Seen, now_s: float, why: str) -> Write[Group] | None:
    candidates = _candidates(group, seen)
    if not candidates:
        return None
    epoch = group.epoch if group.takeover else group.epoch + 1
    promoted = replace(group, takeover=None, epoch=epoch, since_s=now_s).move(candidates[0], Move.PROMOTED)
    return Write(
        promoted,
        (Event(FailoverEvent.PROMOTED, now_s, about=candidates[0], reason=why, numbers={"epoch": epoch}),),
    )


def _candidates(group: Group, seen: Seen) -> tuple[str, ...]:
    return tuple(instance_id for instance_id in group.candidates if instance_id not in seen.interrupted)
