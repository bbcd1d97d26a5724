"""Taking over: revoke, wait, catch up, promote, confirm; or reinstate.

Rule 1: first a commit that ends the old primary's epoch.  From then on no lease of that epoch can be
        granted, because each grant is made WHERE epoch AND primary, in the very row of the lease (H2, H18).
Rule 2: then no other member's lease may run, or the last holder has said, under the new epoch, that it
        has stopped.  Leases are looked at *after* the record that ended the epoch was read.
Rule 3: then the promotion, under the epoch that the revocation began.
Rule 4: the old primary stays `demoting` until its successor is confirmed: if none can take over, it is
        reinstated (H32).

An agent counts its lease from the moment it sent the heartbeat, the database from the moment it stored it,
which is later, and keeps it a little longer than it granted it: when the lease is out here, it is out there.
"""

from dataclasses import replace
from typing import Final

from holdfast.cloud.machines import State
from holdfast.failover.events import FailoverEvent
from holdfast.failover.group import Degraded, Group, Member, Replica, ReplicaStatus, Takeover, after
from holdfast.failover.roles import Move, Status
from holdfast.failover.rules.choose import choose
from holdfast.failover.rules.rule import Answer, Change, Situation
from holdfast.failover.rules.standby import reached, ready_for
from holdfast.kernel import Event, Wait

SWITCH: Final = "SWITCH"
"""The code of a takeover that an operator asked for."""
RECOVERED: Final = "RECOVERED"
"""Of a takeover after a restored database: it goes to the member that served last, and to no other."""
POWERLESS: Final = frozenset({State.TERMINATED, State.STOPPED})
"""What such a machine ran has ended."""


def revoke(situation: Situation, takeover: Takeover, *, rejected: str = "") -> Change:
    """End the holder's epoch.  `takeover.old` is the primary, or empty where there was none."""
    group, now_s = situation.group, situation.now_s
    old = group.member(takeover.old)
    demoting = [replace(after(old, Move.REVOKED, now_s), demoted_at_s=now_s)] if old else []
    degraded = group.degraded or Degraded(now_s, takeover.code, takeover.reason)
    revoked = group.put(
        *demoting,
        epoch=group.epoch + 1,
        takeover=replace(takeover, started_s=now_s),
        switch=None,
        degraded=degraded,
    )
    kind = FailoverEvent.REVOKED if takeover.old else FailoverEvent.EPOCH_BEGUN
    event = situation.told(kind, takeover.old, _with(takeover.reason, rejected), takeover.code)
    return Change(revoked, (event,))


def _with(reason: str, rejected: str) -> str:
    return f"{reason} (not ready: {rejected})" if rejected else reason


def note_stopped(situation: Situation) -> Answer:
    """The last holder says that it has stopped under this epoch, or the cloud says that it has."""
    group, takeover = situation.group, situation.group.takeover
    if takeover is None or takeover.fenced or takeover.candidate:
        return None
    holder = takeover.last_holder
    report = situation.of(holder).report
    said = report.hook_epoch == group.epoch and report.hook_goal in ("demote", "stop")
    if not holder or not ((said and report.hook_state == "done") or is_powerless(situation, holder)):
        return None
    position = report.position if said and holder == takeover.old else takeover.position
    fenced = replace(takeover, fenced=True, fenced_s=situation.now_s, position=position)
    reason = f"at position {position}" if position else ""
    return Change(replace(group, takeover=fenced), (situation.told(FailoverEvent.FENCED, holder, reason),))


def is_powerless(situation: Situation, instance_id: str) -> bool:
    listed = situation.seen.cloud or ()
    return any(one.instance_id == instance_id and one.state in POWERLESS for one in listed)


def is_machine(situation: Situation, member: Member) -> bool:
    """Whether the cloud can end it, and say so: we launched it, or it carries the group's tag."""
    listed = situation.seen.cloud or ()
    tagged = bool(member.replica_id) or any(one.instance_id == member.instance_id for one in listed)
    return situation.policy.machines and tagged


def promote(situation: Situation) -> Answer:
    """Nothing of the old epoch serves any more: the best standby is promoted, or the old primary again."""
    takeover = situation.group.takeover
    if takeover is None or takeover.candidate or situation.group.recovering:
        return None
    choice = choose(situation, lambda member: ready_for(situation, takeover, member), takeover.wanted)
    if choice.best is None and takeover.code == SWITCH and unfit_to_return(situation, _old(situation)):
        choice = choose(situation, lambda member: ready_for(situation, takeover, member))
    candidate = choice.best
    if candidate is None:
        return _reinstate(situation, takeover, choice.why_not())
    wait = _running(situation, takeover, candidate)
    if wait is not None:
        return wait
    there = [m for m in choice.ready if reached(situation.of(m).report.position, takeover.position)]
    late_s = min(takeover.fenced_s + situation.group.settings.catch_up_s, takeover.deadline_s or float("inf"))
    if not there and situation.now_s < late_s:
        return Wait(
            min(late_s, situation.now_s + situation.policy.look_again_s),
            f"{candidate.instance_id} catches up with {takeover.position}",
        )
    chosen = there[0] if there else candidate
    short = "" if there else f"it has not reached {takeover.position}"
    reason = "; ".join(filter(None, (takeover.reason, short, choice.why_not())))
    return _begin(situation, takeover, chosen, Move.CHOSEN, FailoverEvent.PROMOTING, reason)


def _running(situation: Situation, takeover: Takeover, candidate: Member) -> Wait | None:
    """The lease that must run out before another member is promoted."""
    if takeover.fenced:
        return None
    others = [m.instance_id for m in situation.group.members if m.instance_id != candidate.instance_id]
    left_s, longest = max(((situation.of(one).lease_left_s, one) for one in others), default=(0.0, ""))
    if left_s <= 0:
        return None
    until_s = situation.now_s + min(left_s, situation.policy.look_again_s)
    return Wait(until_s, f"the lease of {longest} runs for {left_s:.1f} s more")


def _reinstate(situation: Situation, takeover: Takeover, why_not: str) -> Answer:
    old = _old(situation)
    unfit = unfit_to_return(situation, old)
    if old is None or unfit:
        return situation.again(f"no standby is ready ({why_not or 'there is none'}), {takeover.old}: {unfit}")
    wait = _running(situation, takeover, old)
    reason = f"no standby could take over: {why_not or 'there is none'}"
    return wait or _begin(situation, takeover, old, Move.REINSTATED, FailoverEvent.REINSTATED, reason)


def _old(situation: Situation) -> Member | None:
    takeover = situation.group.takeover
    return situation.group.member(takeover.old) if takeover else None


def unfit_to_return(situation: Situation, old: Member | None) -> str:
    """Why the old primary cannot be reinstated; empty if it can."""
    if old is None or old.status is not Status.DEMOTING:
        return "it is gone" if old is None else f"it is {old.status.value}"
    seen, takeover = situation.of(old), situation.group.takeover
    if takeover and takeover.code == RECOVERED and takeover.wanted != old.instance_id:
        return f"{takeover.wanted} served later"
    if old.interrupted or seen.report.status != "running":
        return "it is being stopped"
    if seen.silent_s > situation.group.settings.fresh_s:
        return f"silent for {seen.silent_s:.0f} s"
    # In vain for long: it has the newest data, and a promotion may be what mends it.
    patient = takeover is not None and situation.now_s < takeover.started_s + 2 * situation.policy.term.kept_s
    return "unhealthy" if seen.report.healthy is False and patient else ""


def _begin(
    situation: Situation, takeover: Takeover, chosen: Member, move: Move, kind: FailoverEvent, reason: str
) -> Change:
    begun = replace(takeover, candidate=chosen.instance_id)
    group = situation.group.put(after(chosen, move, situation.now_s), takeover=begun)
    return Change(group, (situation.told(kind, chosen.instance_id, reason, takeover.code),))


def confirm(situation: Situation) -> Answer:
    """The promotion is done: the takeover ends, and with it the time of the old primary."""
    group, takeover = situation.group, situation.group.takeover
    candidate = group.member(takeover.candidate) if takeover else None
    if takeover is None or candidate is None:
        return None
    report = situation.of(candidate).report
    if (report.hook_epoch, report.hook_state) != (group.epoch, "done") or report.hook_goal != "promote":
        return None
    events = [situation.told(FailoverEvent.PROMOTED, candidate.instance_id, takeover.reason, takeover.code,
                             took_s=round(situation.now_s - takeover.started_s, 3))]  # fmt: skip
    became = [replace(after(candidate, Move.CONFIRMED, situation.now_s), failure="")]
    for old in group.having(Status.DEMOTING):
        left, event = _leave(situation, old)
        became.append(left)
        events.append(event)
    replicas = _promoted_replica(group, candidate, situation.now_s)
    confirmed = group.put(*became, takeover=None, degraded=None, served_epoch=group.epoch, replicas=replicas)
    return Change(confirmed, tuple(events))


def _promoted_replica(group: Group, candidate: Member, now_s: float) -> tuple[Replica, ...]:
    return tuple(
        replace(replica, status=ReplicaStatus.PROMOTED, promoted_at_s=now_s)
        if replica.replica_id == candidate.replica_id
        else replica
        for replica in group.replicas
    )


def _leave(situation: Situation, old: Member) -> tuple[Member, Event]:
    """What becomes of the old primary once its successor is confirmed."""
    settings, now_s = situation.group.settings, situation.now_s
    ours = is_machine(situation, old)
    if settings.auto_terminate and ours:
        ended = replace(after(old, Move.CONDEMNED, now_s), terminate_at_s=now_s + settings.terminate_wait_s)
        reason = f"auto_terminate, in {settings.terminate_wait_s:.0f} s"
        return ended, situation.told(FailoverEvent.TERMINATING, old.instance_id, reason)
    reason = "auto_terminate is off" if not settings.auto_terminate else "its machine is not ours to end"
    zombie = after(old, Move.RETIRED, now_s)
    return zombie, situation.told(FailoverEvent.RETIRED, old.instance_id, reason)


def fail(situation: Situation) -> Answer:
    """The promotion failed, hangs, or its member has fallen silent: the next one's turn (H39)."""
    group, takeover = situation.group, situation.group.takeover
    candidate = group.member(takeover.candidate) if takeover else None
    if takeover is None or candidate is None:
        return None
    failure = _failure(situation, candidate)
    if not failure:
        return situation.again(f"{candidate.instance_id} is being promoted")
    failed = replace(
        after(candidate, Move.FAILED, situation.now_s), failure=failure, demoted_at_s=situation.now_s
    )
    rejected = (*takeover.rejected, candidate.instance_id)
    # An agent says "failed" once nothing of the promotion is left; of any other failure it is not known.
    again = replace(
        takeover, candidate="", rejected=rejected, fenced=_says_failed(situation, candidate),
        fenced_s=situation.now_s,
    )  # fmt: skip
    event = situation.told(FailoverEvent.PROMOTION_FAILED, candidate.instance_id, failure)
    return Change(group.put(failed, takeover=again, epoch=group.epoch + 1), (event,))


def _says_failed(situation: Situation, candidate: Member) -> bool:
    report, epoch = situation.of(candidate).report, situation.group.epoch
    return (report.hook_goal, report.hook_epoch, report.hook_state) == ("promote", epoch, "failed")


def _failure(situation: Situation, candidate: Member) -> str:
    group, seen = situation.group, situation.of(candidate)
    report = seen.report
    if _says_failed(situation, candidate):
        return f"on-promote failed: {report.hook_output or 'no output'}"
    if is_powerless(situation, candidate.instance_id):
        return "its machine is gone"
    if not situation.seen.may_judge:
        return ""
    unheard_s = min(seen.silent_s, situation.now_s - candidate.since_s)
    if unheard_s > situation.policy.term.kept_s:
        return f"silent for {seen.silent_s:.0f} s while it was promoted"
    if situation.now_s >= candidate.since_s + group.settings.promote_timeout_s:
        return f"not done within promote_timeout_s, {group.settings.promote_timeout_s:g} s"
    return ""
