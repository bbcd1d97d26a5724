"""The cloud against the record: machines with the group's tag that no member is.

Rule 1: only a machine whose token is that of a launch which the record gave up is ended.  It becomes a member
        that is `terminating`, in a commit that another's intent would make a Conflict (H5); then it is ended.
Rule 2: any other is shown to an operator, and left alone: a database from the past knows not all of its
        own (H16).
"""

from dataclasses import replace

from holdfast.cloud.machines import ALIVE
from holdfast.failover.events import FailoverEvent
from holdfast.failover.group import Member, ReplicaStatus
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Answer, Change, Situation


def sweep(situation: Situation) -> Answer:
    group, listed = situation.group, situation.seen.cloud
    if listed is None:
        return None
    known = {member.instance_id for member in group.members}
    tokens = {replica.token: replica for replica in group.replicas}
    strangers = []
    for one in sorted(listed, key=lambda each: each.instance_id):
        if one.state not in ALIVE or one.instance_id in known:
            continue
        replica = tokens.get(one.token) if one.token else None
        if replica is None:
            strangers.append(one.instance_id)
        elif replica.status is ReplicaStatus.FAILED or replica.instance_id not in ("", one.instance_id):
            late = Member(
                instance_id=one.instance_id, status=Status.TERMINATING, since_s=situation.now_s,
                instance_type=one.instance_type, az=one.zone, replica_id=replica.replica_id,
                terminate_at_s=situation.now_s,
            )  # fmt: skip
            event = situation.told(
                FailoverEvent.TERMINATING, one.instance_id, f"launch {replica.replica_id} was given up"
            )
            return Change(replace(group, members=(*group.members, late)), (event,))
    return _strangers(situation, tuple(strangers))


def _strangers(situation: Situation, found: tuple[str, ...]) -> Answer:
    before = situation.group.strangers
    if found == before:
        return None
    events = [situation.told(FailoverEvent.STRANGER, one) for one in found if one not in before]
    events += [situation.told(FailoverEvent.STRANGER_GONE, one) for one in before if one not in found]
    return Change(replace(situation.group, strangers=found), tuple(events[:99]))
