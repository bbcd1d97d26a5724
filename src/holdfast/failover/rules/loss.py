"""When a primary is to be replaced: it is interrupted, it is lost, it is ill, or an operator wants it.

Rule 1: it is replaced only while a standby is ready.  Without one it goes on serving, or may come back: a
        revocation would only add an outage (H32, H34).
Rule 2: silence is judged only by a server that has seen the database for a whole lease (H22), and only of
        a primary that was heard of before.
"""

from dataclasses import replace

from holdfast.cloud.machines import ALIVE
from holdfast.failover.events import FailoverEvent
from holdfast.failover.group import TWO_PRIMARIES, Degraded, Member, Mode, Switch, Takeover
from holdfast.failover.roles import Status
from holdfast.failover.rules.choose import Choice, choose
from holdfast.failover.rules.rule import Answer, Change, Situation
from holdfast.failover.rules.standby import unready
from holdfast.failover.rules.takeover import SWITCH, is_powerless, revoke

LEASE_LOST = "LEASE_LOST"
"""Of a primary that was judged by its silence: only a share of all groups is, within a minute (H22).  A
notice of the cloud is certain, and never waits."""


UNHEARD = "{} was primary before it had an agent, and has never been heard of"
"""So no lease stops it: that it is silent tells nothing."""


def primary_of(situation: Situation) -> Member | None:
    return next(situation.group.having(Status.PRIMARY), None)


def is_serving(situation: Situation) -> bool:
    """A confirmed primary holds a lease at this moment."""
    primary = primary_of(situation)
    return primary is not None and situation.of(primary).lease_left_s > 0


def may_change(situation: Situation) -> bool:
    """Whether roles may change without an operator's word."""
    group = situation.group
    return group.settings.mode is not Mode.OFF and group.paused_until_s <= situation.now_s


def standbys(situation: Situation, *, emergency: bool) -> Choice:
    return choose(situation, lambda member: unready(situation, member, emergency=emergency))


def replace_interrupted(situation: Situation) -> Answer:
    """A notice, a state of the machine, or its own word says that the primary is going."""
    primary = primary_of(situation)
    if primary is None or not may_change(situation):
        return None
    why = going(situation, primary)
    if not why:
        return None
    choice = standbys(situation, emergency=True)
    if choice.best is None:
        return situation.again(f"{primary.instance_id}: {why}, and no standby is ready: {choice.why_not()}")
    margin_s = situation.group.settings.deadline_margin_s
    code = "TERMINATION_NOTICE" if primary.interrupted else "STOPPING"
    takeover = Takeover(
        old=primary.instance_id, reason=why, code=code, emergency=True,
        deadline_s=primary.deadline_s - margin_s if primary.deadline_s else None,
        fenced=is_powerless(situation, primary.instance_id), fenced_s=situation.now_s,
    )  # fmt: skip
    return revoke(situation, takeover, rejected=choice.why_not())


def going(situation: Situation, primary: Member) -> str:
    if primary.interrupted:
        return "termination notice"
    listed = [one for one in situation.seen.cloud or () if one.instance_id == primary.instance_id]
    if listed and listed[0].state not in ALIVE:
        return f"its machine is {listed[0].state.value}"
    return "its agent is stopping" if situation.of(primary).report.status == "stopping" else ""


def replace_lost(situation: Situation) -> Answer:
    """Its lease is out by the database's clock."""
    primary = primary_of(situation)
    if primary is None or not may_change(situation) or not situation.seen.may_judge:
        return None
    if is_serving(situation):
        return None
    choice = standbys(situation, emergency=True)
    if choice.best is None:
        return situation.again(f"the lease of {primary.instance_id} is out, and no standby is ready")
    if not situation.seen.may_revoke:
        return situation.again("too many primaries were revoked within a minute: an operator is asked")
    silent_s = situation.of(primary).silent_s
    if silent_s == float("inf"):
        return situation.again(f"{UNHEARD.format(primary.instance_id)}: enrol it, or promote another")
    reason = f"its lease is out, silent for {silent_s:.0f} s"
    takeover = Takeover(old=primary.instance_id, reason=reason, code=LEASE_LOST, emergency=True)
    return revoke(situation, takeover, rejected=choice.why_not())


def replace_unhealthy(situation: Situation) -> Answer:
    """Its own health check has failed for too long, or it has not served for a whole lease."""
    primary = primary_of(situation)
    if primary is None or not may_change(situation) or not primary.unhealthy_since_s:
        return None
    idle = is_idle(situation, primary)
    limit_s = situation.policy.term.kept_s if idle else situation.group.settings.unhealthy_s
    if not limit_s:
        return None
    ill_s = situation.now_s - primary.unhealthy_since_s
    if ill_s < limit_s:
        return situation.again(f"{primary.instance_id} has been unhealthy for {ill_s:.0f} s")
    choice = standbys(situation, emergency=idle)
    if choice.best is None or not situation.seen.may_revoke:
        return situation.again(f"{primary.instance_id} is unhealthy, and no standby is ready")
    reason = f"unhealthy for {ill_s:.0f} s: {_why_ill(situation, primary)}"
    takeover = Takeover(old=primary.instance_id, reason=reason, code="UNHEALTHY", emergency=idle)
    return revoke(situation, takeover, rejected=choice.why_not())


IDLE = "its leases are renewed, and it says that it does not serve: it may not hear what it is answered"


def is_idle(situation: Situation, primary: Member) -> bool:
    """It says itself that it does not serve under its epoch, and is not about to.

    A primary that hears no answers stops when its lease is out by its own clock, while its heartbeats go on
    to renew that lease here: without this it would be primary for ever, and nothing would be served.
    """
    report, epoch = situation.of(primary).report, situation.group.epoch
    said = report.hook_goal, report.hook_epoch
    return said == ("promote", epoch) and report.hook_state in ("none", "failed")


def _why_ill(situation: Situation, primary: Member) -> str:
    """Empty if it is well, as far as is known."""
    if is_idle(situation, primary):
        return IDLE
    report = situation.of(primary).report
    return (report.health_reason or "no reason given") if report.healthy is False else ""


def note_health(situation: Situation) -> Answer:
    """The primary fell ill, or is well again: since when counts."""
    primary = primary_of(situation)
    if primary is None:
        return None
    ill = _why_ill(situation, primary)
    if bool(ill) is bool(primary.unhealthy_since_s):
        return None
    kind = FailoverEvent.UNHEALTHY if ill else FailoverEvent.HEALTHY
    noted = replace(primary, unhealthy_since_s=situation.now_s if ill else 0.0)
    event = situation.told(kind, primary.instance_id, ill)
    return Change(situation.group.put(noted), (event,))


def switch(situation: Situation) -> Answer:
    """An operator asked for it: as soon as the candidate is ready, and not for ever."""
    group, asked = situation.group, situation.group.switch
    primary = primary_of(situation)
    if asked is None or primary is None:
        return None
    choice = _switchable(situation, asked)
    if choice.best is not None:
        reason = f"switch asked by {asked.by}" if asked.by else "switch"
        takeover = Takeover(
            old=primary.instance_id, reason=reason, code=SWITCH, emergency=asked.emergency,
            wanted=asked.wanted or choice.best.instance_id, accept_data_loss=asked.accept_data_loss,
        )  # fmt: skip
        return revoke(situation, takeover, rejected=choice.why_not())
    if situation.now_s < asked.deadline_s:
        return situation.again(f"a switch is asked: {choice.why_not() or 'there is no standby'}")
    event = situation.told(
        FailoverEvent.SWITCH_DROPPED, asked.wanted, choice.why_not() or "there is no standby", "TIMED_OUT"
    )
    return Change(replace(group, switch=None), (event,))


def _switchable(situation: Situation, asked: Switch) -> Choice:
    return choose(
        situation,
        lambda member: unready(
            situation,
            member,
            emergency=asked.emergency,
            accept_data_loss=asked.accept_data_loss,
            since_s=asked.asked_s,
        ),
        asked.wanted,
    )


def note_degraded(situation: Situation) -> Answer:
    """No primary serves: since when, and why; or one serves again."""
    group = situation.group
    if is_serving(situation) and not _idles(situation):
        if group.degraded is None:
            return None
        since_s = situation.now_s - group.degraded.since_s
        event = situation.told(FailoverEvent.RESTORED, group.primary or "", f"after {since_s:.0f} s")
        return Change(replace(group, degraded=None), (event,))
    code, reason = _why_degraded(situation)
    if not code or (group.degraded and group.degraded.code == code):
        return None
    since_s = group.degraded.since_s if group.degraded else situation.now_s
    event = situation.told(FailoverEvent.DEGRADED, group.primary or "", reason, code)
    return Change(replace(group, degraded=Degraded(since_s, code, reason)), (event,))


def _idles(situation: Situation) -> bool:
    """For longer than a lease, so that a short outage of the database is not told twice."""
    primary = primary_of(situation)
    if primary is None or not primary.unhealthy_since_s or not is_idle(situation, primary):
        return False
    return situation.now_s >= primary.unhealthy_since_s + situation.policy.term.kept_s


def _why_degraded(situation: Situation) -> tuple[str, str]:
    """A stable code and the words; empty while a takeover is on its way, or silence may not be judged."""
    group = situation.group
    primary = primary_of(situation)
    if primary is not None:
        if not situation.seen.may_judge:
            return "", ""
        if _idles(situation):
            return "NOT_SERVING", f"{primary.instance_id}: {IDLE}"
        if situation.of(primary).silent_s == float("inf"):
            return "LEASE_LOST", UNHEARD.format(primary.instance_id)
        why_not = standbys(situation, emergency=True).why_not() or "there is none"
        return "LEASE_LOST", f"the lease of {primary.instance_id} is out; standbys: {why_not}"
    if group.recovering is not None:
        return "RECOVERING", f"epoch {group.recovering.epoch} was reported: the database is from the past"
    takeover = group.takeover
    if takeover is None:
        decided = group.degraded is None or group.degraded.code != TWO_PRIMARIES
        return ("NEW_GROUP", "no primary yet") if decided else ("", "")
    if takeover.candidate or not situation.seen.may_judge:
        return "", ""
    choice = choose(situation, lambda m: unready(situation, m, emergency=True), takeover.wanted)
    if choice.best is not None or situation.now_s < takeover.started_s + 2 * situation.policy.term.kept_s:
        return "", ""
    return "NO_CANDIDATE", f"{takeover.reason}; no standby is ready: {choice.why_not() or 'there is none'}"
