"""How instances come, and how a person takes them out or back.

Registration never grants a role (B9, S8): a newcomer is a standby, and the rules promote it, or not.
"""

from dataclasses import dataclass, replace

from holdfast.failover.asks.ask import Asked, Refusal, blind
from holdfast.failover.events import FailoverEvent
from holdfast.failover.group import ID, ID_SHAPE, Degraded, Group, Member, ReplicaStatus, after
from holdfast.failover.roles import Move, Status
from holdfast.failover.rules.departure import leave_record
from holdfast.failover.rules.rule import Change, Rule, Situation
from holdfast.failover.rules.staffing import put

REGISTER = Rule(101, "REGISTER", "An instance registers: it is a standby, or what it was.")
REVIVE = Rule(151, "REVIVE", "An operator takes a zombie back as a standby.")
GONE = Rule(152, "GONE", "An operator says that an instance is gone, where no cloud can.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    instance_id: str
    invited: bool
    """It holds a one-time enrolment, or it has a row already."""
    terminated: bool = False
    """Its row says that it is terminated."""
    instance_type: str = ""
    region: str = ""
    az: str = ""
    address: str = ""
    priority: int = 100
    never_promote: bool = False
    token: str = ""
    """The token of the launch that started its machine, if it was one of ours."""


def register(group: Group, ask: Register, now_s: float) -> Asked:
    """DISABLED is no error for the agent: it is told that it is not enabled, and serves nothing."""
    situation = blind(group, now_s)
    if not ID.fullmatch(ask.instance_id):
        return Refusal("INVALID_REQUEST", f"instance_id: {ask.instance_id!r} ({ID_SHAPE})")
    member = group.member(ask.instance_id)
    if ask.terminated and member is None:
        return Refusal("DISABLED", f"{ask.instance_id} is terminated (enrol it under another instance id)")
    if member is None:
        return _newcomer(situation, ask)
    if member.status in (Status.ZOMBIE, Status.TERMINATING):
        return Refusal("DISABLED", f"{ask.instance_id} is {member.status.value}")
    said = replace(
        member, instance_type=ask.instance_type or member.instance_type, region=ask.region or member.region,
        az=ask.az or member.az, address=ask.address or member.address, priority=ask.priority,
        never_promote=ask.never_promote,
    )  # fmt: skip
    if member.status is Status.LAUNCHING:
        return _arrived(situation, after(said, Move.REGISTERED, now_s))
    if said == member:
        return None
    event = situation.told(FailoverEvent.CHANGED, ask.instance_id, said.address)
    return REGISTER.stamped(Change(group.put(said), (event,)))


def _newcomer(situation: Situation, ask: Register) -> Asked:
    group, now_s = situation.group, situation.now_s
    intent = next((r for r in group.replicas if ask.token and r.token == ask.token), None)
    open_intent = intent is not None and intent.status is ReplicaStatus.LAUNCHING and not intent.instance_id
    if not ask.invited and not open_intent:
        return Refusal("DISABLED", f"{ask.instance_id} is not known here (enrol it: `failover enrol`)")
    if intent is not None and not open_intent:
        return Refusal("DISABLED", f"the launch of {ask.instance_id} was given up")
    newcomer = Member(
        instance_id=ask.instance_id, status=Status.REPLICA, since_s=now_s, instance_type=ask.instance_type,
        region=ask.region, az=ask.az, address=ask.address, priority=ask.priority,
        never_promote=ask.never_promote, replica_id=intent.replica_id if intent else "",
        emergency=intent.emergency if intent else False,
    )  # fmt: skip
    events = [situation.told(FailoverEvent.REGISTERED, ask.instance_id, ask.address)]
    if not group.created_s:
        events.insert(0, situation.told(FailoverEvent.CREATED, group.subject))
        group = replace(group, created_s=now_s, degraded=Degraded(now_s, "NEW_GROUP", "no primary yet"))
    if intent is not None:
        group = put(group, replace(intent, instance_id=ask.instance_id, status=ReplicaStatus.SYNCING))
    return REGISTER.stamped(Change(replace(group, members=(*group.members, newcomer)), tuple(events)))


def _arrived(situation: Situation, member: Member) -> Asked:
    group = situation.group.put(member)
    for replica in group.replicas:
        if replica.instance_id == member.instance_id and replica.status is ReplicaStatus.LAUNCHING:
            group = put(group, replace(replica, status=ReplicaStatus.SYNCING))
    event = situation.told(FailoverEvent.REGISTERED, member.instance_id, member.address)
    return REGISTER.stamped(Change(group, (event,)))


def revive(group: Group, instance_id: str, by: str, now_s: float) -> Asked:
    """The way out when the last good copy is a zombie, because its promotion failed."""
    situation, member = blind(group, now_s), group.member(instance_id)
    if member is None:
        return Refusal("NOT_FOUND", f"{instance_id}: no member of {group.agent_id}")
    if member.status is Status.REPLICA:
        return None
    if member.status is not Status.ZOMBIE:
        return Refusal("INVALID_STATE", f"{instance_id} is {member.status.value}; only a zombie is revived")
    group = group.put(replace(after(member, Move.REVIVED, now_s), failure=""))
    if group.takeover is not None:
        rejected = tuple(one for one in group.takeover.rejected if one != instance_id)
        group = replace(group, takeover=replace(group.takeover, rejected=rejected))
    return REVIVE.stamped(Change(group, (situation.told(FailoverEvent.REVIVED, instance_id, f"by {by}"),)))


def gone(group: Group, instance_id: str, by: str, now_s: float, *, lease_left_s: float) -> Asked:
    """An operator's word in place of the cloud's.  Whatever may still serve is not gone."""
    situation, member = blind(group, now_s), group.member(instance_id)
    if member is None:
        return Refusal("NOT_FOUND", f"{instance_id}: no member of {group.agent_id}")
    if member.status.is_primary:
        return Refusal("INVALID_STATE", f"{instance_id} is {member.status.value} (switch to another first)")
    if lease_left_s > 0:
        return Refusal("INVALID_STATE", f"the lease of {instance_id} runs for {lease_left_s:.1f} s more")
    return GONE.stamped(leave_record(situation, member, f"{by} says so"))
