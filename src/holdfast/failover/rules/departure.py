"""How members leave: surplus, retention, the machine's end, and what the cloud says of it.

Rule 1: a machine is ended only after its member is `terminating` in the record, and that is never taken back.
Rule 2: the last good copy is never ended: what has held the role goes only while another member serves
        under a lease and is healthy (H37).
Rule 3: `terminated` is the cloud's word (S7).  Without machines it is an operator's, or that of a silence as
        long as the retention.
"""

from dataclasses import replace

from holdfast.cloud.machines import ALIVE, Instance, State
from holdfast.failover.events import FailoverEvent
from holdfast.failover.group import Member, ReplicaStatus, after
from holdfast.failover.ports import Terminate
from holdfast.failover.roles import Move, Status
from holdfast.failover.rules.loss import is_serving, primary_of
from holdfast.failover.rules.rule import Answer, Change, Situation
from holdfast.failover.rules.staffing import unheard_s
from holdfast.failover.rules.takeover import is_machine
from holdfast.kernel import Do, Wait


def serves_well(situation: Situation) -> bool:
    """A primary serves under a lease, and says that its service is up and healthy."""
    primary = primary_of(situation)
    if primary is None or not is_serving(situation):
        return False
    seen, report = situation.of(primary), situation.of(primary).report
    said = report.hook_goal, report.hook_epoch, report.hook_state
    up = said == ("promote", situation.group.epoch, "done")
    return up and report.healthy is True and seen.silent_s <= situation.policy.term.kept_s


def note_gone(situation: Situation) -> Answer:
    """The cloud says that a member's machine is terminated: it leaves the record, its row stays."""
    if situation.seen.cloud is None:
        return None
    listed = {one.instance_id: one for one in situation.seen.cloud}
    for member in situation.group.members:
        if member.status.is_primary:
            continue  # it is replaced first
        if is_gone(situation, member, listed.get(member.instance_id)):
            return leave_record(situation, member, "the cloud says so")
    return None


def is_gone(situation: Situation, member: Member, one: Instance | None) -> bool:
    if one is not None:
        return one.state is State.TERMINATED
    return (
        bool(member.missing_since_s)
        and situation.now_s >= member.missing_since_s + situation.policy.missing_s
    )


def note_missing(situation: Situation) -> Answer:
    """A member that we launched is not in the cloud's list, or is again: only missing for a while is gone."""
    if situation.seen.cloud is None:
        return None
    listed = {one.instance_id for one in situation.seen.cloud}
    for member in situation.group.members:
        new = situation.now_s < member.since_s + situation.policy.missing_s
        if new or not (member.replica_id or member.status is Status.TERMINATING):
            continue  # the cloud may not list it yet, or it is no machine of ours
        if (member.instance_id in listed) is bool(member.missing_since_s):
            found = bool(member.missing_since_s)
            noted = replace(member, missing_since_s=0.0 if found else situation.now_s)
            kind = FailoverEvent.FOUND if found else FailoverEvent.MISSING
            return Change(situation.group.put(noted), (situation.told(kind, member.instance_id),))
    return None


def leave_record(situation: Situation, member: Member, reason: str) -> Change:
    """Out of the record, as terminated; its launch intent with it."""
    after(member, Move.CONFIRMED_GONE, situation.now_s)  # raises if the table has no such move
    group = situation.group
    left = tuple(m for m in group.members if m.instance_id != member.instance_id)
    replicas = tuple(
        replace(r, status=ReplicaStatus.FAILED, ended_s=situation.now_s, failure="its machine is gone")
        if r.instance_id == member.instance_id and r.status is ReplicaStatus.LAUNCHING
        else r
        for r in group.replicas
        if r.instance_id != member.instance_id or r.status in (ReplicaStatus.LAUNCHING, ReplicaStatus.FAILED)
    )
    event = situation.told(FailoverEvent.CONFIRMED_GONE, member.instance_id, reason)
    return Change(replace(group, members=left, replicas=replicas), (event,))


def terminate(situation: Situation) -> Answer:
    """The time of condemned members has come: end their machines, again until the cloud says so."""
    if not situation.policy.machines:
        return None
    listed = {one.instance_id: one for one in situation.seen.cloud or ()}
    well, due, waits = serves_well(situation), [], []
    for member in situation.group.having(Status.TERMINATING):
        one = listed.get(member.instance_id)
        if one is not None and one.state not in ALIVE | {State.STOPPED, State.STOPPING}:
            continue  # it is on its way out
        if situation.seen.cloud is None or not situation.seen.may_judge:
            continue
        if _has_data(situation, member) and not well:
            continue  # it may be the last good copy
        if situation.now_s < member.terminate_at_s:
            waits.append(member.terminate_at_s)
        elif one is not None:
            due.append(Terminate(member.instance_id))
    if due:
        return Do(tuple(due))
    return Wait(min(waits), "a former primary is terminated") if waits else None


def _has_data(situation: Situation, member: Member) -> bool:
    """Its agent was heard of once, so it may hold a copy."""
    return bool(member.demoted_at_s) or situation.of(member).silent_s < float("inf")


def retain(situation: Situation) -> Answer:
    """Zombies are kept for a while: then they are condemned, if another member serves well."""
    settings = situation.group.settings
    waits = []
    for member in situation.group.having(Status.ZOMBIE):
        over_s = member.demoted_at_s + settings.zombie_retention_s
        if situation.now_s < over_s:
            waits.append(over_s)
            continue
        kept = f"kept for {settings.zombie_retention_s / 86_400:g} days"
        ours = is_machine(situation, member)
        if ours and serves_well(situation):
            condemned = replace(
                after(member, Move.CONDEMNED, situation.now_s), terminate_at_s=situation.now_s
            )
            event = situation.told(FailoverEvent.ZOMBIE_CLEANUP, member.instance_id, kept)
            return Change(situation.group.put(condemned), (event,))
        silent = situation.of(member).silent_s >= settings.zombie_retention_s
        if not ours and situation.seen.may_judge and silent:
            return leave_record(situation, member, f"{kept}, and silent for as long")
    return Wait(min(waits), "a zombie is kept") if waits else None


def surplus(situation: Situation) -> Answer:
    """Standbys that we launched and that are not needed any more; silent ones that were replaced."""
    group, settings = situation.group, situation.group.settings
    if not situation.policy.machines or not serves_well(situation) or group.switch:
        return None
    quiet_s = group.noticed_s + settings.quiet_s
    quiet = situation.now_s >= quiet_s
    running = tuple(group.having(Status.REPLICA))
    alive = [m for m in running if unheard_s(situation, m) <= situation.policy.dead_standby_s]
    dead = [m for m in running if m not in alive and m.replica_id and situation.seen.may_judge]
    recent = [m for m in alive if m.emergency and not quiet]
    extra = len(alive) - len(recent) - settings.standbys_wanted
    if dead and len(alive) >= settings.standbys_wanted:
        return _condemn(situation, dead[0], "silent, and replaced")
    ours = [m for m in alive if m.replica_id and m not in recent]
    if extra > 0 and ours:
        return _condemn(
            situation, min(ours, key=_rank), f"{extra} more than the {settings.standbys_wanted} wanted"
        )
    return Wait(quiet_s, "an emergency replica is kept for a quiet time") if recent else None


def _rank(member: Member) -> tuple[float, ...]:
    """Emergency replicas go first, then the newest."""
    return (not member.emergency, -member.since_s)


def _condemn(situation: Situation, member: Member, reason: str) -> Change:
    condemned = replace(after(member, Move.CONDEMNED, situation.now_s), terminate_at_s=situation.now_s)
    event = situation.told(FailoverEvent.TERMINATING, member.instance_id, reason)
    return Change(situation.group.put(condemned), (event,))
