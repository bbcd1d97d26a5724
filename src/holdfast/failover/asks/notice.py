"""A notice of the cloud, as an agent or a queue hands it on."""

from dataclasses import dataclass, replace

from holdfast.failover.asks.ask import Asked, Refusal
from holdfast.failover.events import FailoverEvent
from holdfast.failover.group import NoticeKind
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Change, Rule, Situation
from holdfast.failover.rules.staffing import covered, plan_launch

REBALANCE = Rule(110, "REBALANCE", "A rebalance recommendation: one emergency replica elsewhere, no switch.")
TERMINATION = Rule(111, "TERMINATION", "A termination notice: its deadline is noted, the rules hand over.")


@dataclass(frozen=True, slots=True)
class Notice:
    instance_id: str
    kind: NoticeKind
    deadline_s: float = 0.0
    """When the cloud takes the machine back; a rebalance recommendation has no deadline (B11)."""


def notice(situation: Situation, ask: Notice) -> Asked:
    """Noted once, however often it comes.

    For the primary, an emergency replica is intended in the same write, when no standby is ready or on its
    way elsewhere: `staffing.emergency_replica` names it.
    """
    group, member = situation.group, situation.group.member(ask.instance_id)
    if member is None:
        return Refusal("NOT_FOUND", f"{ask.instance_id}: no member of {group.agent_id}")
    terminates = ask.kind is NoticeKind.TERMINATION
    rule = TERMINATION if terminates else REBALANCE
    known = member.notice is ask.kind and (not terminates or member.deadline_s <= ask.deadline_s)
    if ask.kind is NoticeKind.NONE or known or (member.interrupted and not terminates):
        return None
    noted = replace(
        member, notice=ask.kind, notice_at_s=situation.now_s, deadline_s=ask.deadline_s if terminates else 0.0
    )
    left = f"{ask.deadline_s - situation.now_s:.0f} s left" if terminates else "no deadline"
    event = situation.told(FailoverEvent.NOTICED, ask.instance_id, f"{ask.kind.value}, {left}")
    change = Change(replace(group.put(noted), noticed_s=situation.now_s), (event,))
    if member.status is Status.PRIMARY:
        change = _with_replica(replace(situation, group=change.group), change)
    return rule.stamped(change)


def _with_replica(situation: Situation, change: Change) -> Change:
    if not situation.policy.machines or covered(situation):
        return change
    launch = plan_launch(situation, emergency=True)
    return Change(launch.group, change.events + launch.events) if launch else change
