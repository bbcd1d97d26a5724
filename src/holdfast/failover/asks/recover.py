"""A person decides who served last, where the reports do not tell."""

from holdfast.failover.asks.ask import Asked, Refusal, silence_first
from holdfast.failover.events import FailoverEvent
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Change, Rule, Situation
from holdfast.failover.rules.vacancy import chosen_to_recover

RECOVER = Rule(150, "RECOVER", "An operator names the member that served last.")


def recover(situation: Situation, instance_id: str, by: str) -> Asked:
    group, member = situation.group, situation.group.member(instance_id)
    if group.recovering is None:
        return Refusal("INVALID_STATE", f"{group.agent_id} is not recovering")
    if member is None:
        return Refusal("NOT_FOUND", f"{instance_id}: no member of {group.agent_id}")
    if member.status not in (Status.REPLICA, Status.DEMOTING):
        return Refusal("PROMOTION_FAILED", f"{instance_id} is {member.status.value}")
    if refusal := silence_first(situation):
        return refusal
    reason = f"{by} says that it served last"
    event = situation.told(FailoverEvent.RECOVERED, instance_id, reason)
    return RECOVER.stamped(Change(chosen_to_recover(group, member, reason), (event,)))
