"""The first primary of a group, and the first one after the database came back from the past.

Rule 1: registration grants nothing.  An empty group waits one lease time, so that whatever served under a
        database that is gone has stopped; then its first ready member is promoted (H30).  A group that was
        taken over with two primaries waits for an operator's word: no other copy is taken for theirs.
Rule 2: a member that has heard of a newer epoch than the record's shows that the record is from the past:
        all stop, one lease time of silence, then an epoch above all that was reported, for the member that
        served last.  If two claim that, or none does, an operator decides.
"""

from dataclasses import replace

from holdfast.failover.events import FailoverEvent
from holdfast.failover.group import TWO_PRIMARIES, Group, Member, Recovering, Takeover, after
from holdfast.failover.roles import Move, Status
from holdfast.failover.rules.choose import choose
from holdfast.failover.rules.rule import Answer, Change, Situation
from holdfast.failover.rules.standby import unready
from holdfast.failover.rules.takeover import RECOVERED, revoke


def first_primary(situation: Situation) -> Answer:
    group = situation.group
    if group.holder is not None or group.takeover is not None or group.recovering is not None:
        return None
    if group.degraded is not None and group.degraded.code == TWO_PRIMARIES:
        return situation.again(group.degraded.reason)
    since_s = group.degraded.since_s if group.degraded else group.created_s
    ready_s = since_s + situation.policy.term.kept_s
    if situation.now_s < ready_s:
        return situation.again(f"an empty group waits one lease time, {ready_s - situation.now_s:.1f} s more")
    choice = choose(situation, lambda member: unready(situation, member, emergency=True))
    if choice.best is None:
        return situation.again(f"no primary yet, and no member is ready: {choice.why_not() or 'none'}")
    return revoke(situation, Takeover(old="", reason="no primary yet", code="FIRST", emergency=True))


def note_newer_epoch(situation: Situation) -> Answer:
    """A member reports an epoch that the record does not know."""
    group = situation.group
    reported, by = max(
        ((situation.of(m).report.highest_epoch, m.instance_id) for m in group.members), default=(0, "")
    )
    if reported <= group.epoch:
        return None
    stops = [
        replace(after(holder, Move.REVOKED, situation.now_s), demoted_at_s=situation.now_s)
        for holder in group.having(Status.PROMOTING, Status.PRIMARY)
    ]
    takeover = group.takeover or Takeover(
        old=group.primary or "", reason="", code="RECOVERING", started_s=situation.now_s
    )
    reason = f"epoch {reported} was reported, the database knows {group.epoch}"
    stopped = replace(takeover, candidate="", fenced=False, reason=reason, code="RECOVERING", emergency=True)
    recovering = Recovering(situation.now_s, reported)
    after_all = group.put(*stops, epoch=reported + 1, takeover=stopped, switch=None, recovering=recovering)
    return Change(after_all, (situation.told(FailoverEvent.RECOVERING, by, reason),))


def recover(situation: Situation) -> Answer:
    """After one lease time of silence: for the member that served last, if it is clear which one that is."""
    group, recovering = situation.group, situation.group.recovering
    if recovering is None:
        return None
    left_s = silence_left_s(situation)
    if left_s > 0:
        return situation.again(f"one lease time of silence, {left_s:.1f} s more")
    claim = claimed(situation, recovering)
    if isinstance(claim, str):
        return situation.again(f"{claim}: an operator decides with `recover`")
    reason = f"it served under epoch {recovering.epoch}"
    return Change(
        chosen_to_recover(group, claim, reason),
        (situation.told(FailoverEvent.RECOVERED, claim.instance_id, reason),),
    )


def silence_left_s(situation: Situation) -> float:
    """For so long a lease may still run that a database which is lost has granted; 0 if none does."""
    recovering = situation.group.recovering
    quiet_s = recovering.since_s + situation.policy.term.kept_s if recovering else 0.0
    return max(0.0, quiet_s - situation.now_s)


def claimed(situation: Situation, recovering: Recovering) -> Member | str:
    """The member that served under the highest epoch that was reported, or why none can be named."""
    members = tuple(situation.group.having(Status.REPLICA, Status.DEMOTING))
    claims = [m for m in members if situation.of(m).report.served_epoch == recovering.epoch]
    if len(claims) == 1:
        return claims[0]
    return f"{len(claims)} members say that they served under epoch {recovering.epoch}"


def chosen_to_recover(group: Group, member: Member, reason: str) -> Group:
    """The takeover goes on, to this member and to no other."""
    assert group.takeover is not None
    old = member.instance_id if member.status is Status.DEMOTING else group.takeover.old
    chosen = replace(
        group.takeover, old=old, wanted=member.instance_id, accept_data_loss=True, rejected=(),
        reason=reason, code=RECOVERED,
    )  # fmt: skip
    return replace(group, takeover=chosen, recovering=None)
