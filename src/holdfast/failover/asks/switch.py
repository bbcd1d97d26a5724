"""An operator wants another primary: a switch when a candidate is ready, or a promotion now."""

from dataclasses import dataclass, replace

from holdfast.failover.asks.ask import Asked, Refusal, silence_first
from holdfast.failover.events import FailoverEvent
from holdfast.failover.group import Group, Member, Switch, Takeover
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Change, Rule, Situation
from holdfast.failover.rules.standby import unready
from holdfast.failover.rules.takeover import SWITCH as SWITCH_CODE
from holdfast.failover.rules.takeover import revoke

SWITCH = Rule(120, "SWITCH_ASKED", "An operator asks for a switch: it is kept until a candidate is ready.")
PROMOTE = Rule(121, "PROMOTE", "An operator promotes a standby that is ready, now.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchTo:
    wanted: str = ""
    """The candidate; empty: the best one, which is launched if it is missing."""
    by: str = ""
    accept_data_loss: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Promote:
    instance_id: str = ""
    replica_id: str = ""
    by: str = ""
    emergency: bool = False
    accept_data_loss: bool = False


def switch(situation: Situation, ask: SwitchTo) -> Asked:
    group, settings = situation.group, situation.group.settings
    if group.takeover is not None:
        return Refusal("INVALID_STATE", f"a takeover is open: {group.takeover.reason} (wait for its end)")
    if group.primary is None:
        return Refusal("INVALID_STATE", "there is no primary to switch from (use `promote`)")
    if ask.wanted:
        member = group.member(ask.wanted)
        refusal = _refused(group, ask.wanted, member)
        if refusal:
            return refusal
    if group.switch is not None and group.switch.wanted == ask.wanted:
        return None
    limit_s = situation.now_s + settings.launch_timeout_s + settings.promote_timeout_s
    asked = Switch(ask.wanted, ask.by, situation.now_s, limit_s, accept_data_loss=ask.accept_data_loss)
    event = situation.told(FailoverEvent.SWITCH_ASKED, ask.wanted, f"by {ask.by}" if ask.by else "")
    return SWITCH.stamped(Change(replace(group, switch=asked), (event,)))


def _refused(group: Group, wanted: str, member: Member | None) -> Refusal | None:
    if member is None:
        return Refusal("NOT_FOUND", f"{wanted}: no member of {group.agent_id}")
    if member.status is Status.PRIMARY:
        return Refusal("INVALID_STATE", f"{wanted} is primary already")
    if member.status is Status.ZOMBIE:
        return Refusal(
            "PROMOTION_FAILED", f"{wanted} is a zombie (make it a standby first: `failover revive`)"
        )
    if member.status not in (Status.LAUNCHING, Status.REPLICA):
        return Refusal("PROMOTION_FAILED", f"{wanted} is {member.status.value}")
    if member.never_promote:
        return Refusal("PROMOTION_FAILED", f"{wanted} is never to be promoted (change its setting first)")
    return None


def promote(situation: Situation, ask: Promote) -> Asked:
    """The one transition of every path: an emergency asks no health anew, and more lag is accepted (B4).

    While no primary serves it names the candidate of the open takeover; leases are waited for all the same.
    """
    group = situation.group
    member = _named(group, ask)
    name = ask.instance_id or ask.replica_id
    if member is None:
        return Refusal("NOT_FOUND", f"{name}: no standby of {group.agent_id}")
    refusal = _refused(group, member.instance_id, member)
    why = "" if refusal else unready(
        situation, member, emergency=ask.emergency, accept_data_loss=ask.accept_data_loss
    )  # fmt: skip
    if refusal or why:
        return refusal or Refusal("PROMOTION_FAILED", f"{member.instance_id}: {why}")
    if silence := silence_first(situation):
        return silence
    reason = f"promotion asked by {ask.by}" if ask.by else "promotion"
    takeover = Takeover(
        old=group.primary or "", reason=reason, code=SWITCH_CODE, emergency=ask.emergency,
        wanted=member.instance_id, accept_data_loss=ask.accept_data_loss,
    )  # fmt: skip
    if group.takeover is None:
        return PROMOTE.stamped(revoke(situation, takeover))
    if group.takeover.candidate:
        return Refusal("INVALID_STATE", f"{group.takeover.candidate} is being promoted (wait for its end)")
    named = replace(
        group.takeover, wanted=member.instance_id, emergency=ask.emergency or group.takeover.emergency,
        accept_data_loss=ask.accept_data_loss, code=SWITCH_CODE, reason=reason,
        rejected=tuple(one for one in group.takeover.rejected if one != member.instance_id),
    )  # fmt: skip
    event = situation.told(FailoverEvent.SWITCH_ASKED, member.instance_id, reason)
    return PROMOTE.stamped(Change(replace(group, takeover=named, recovering=None), (event,)))


def _named(group: Group, ask: Promote) -> Member | None:
    if ask.instance_id:
        return group.member(ask.instance_id)
    replica = group.replica(ask.replica_id)
    return group.member(replica.instance_id) if replica else None
