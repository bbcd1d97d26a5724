"""Which standby is ready: judged from fresh reports whenever it is asked, and never stored (H33)."""

from holdfast.failover.group import Member, Takeover
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Situation


def unready(
    situation: Situation,
    member: Member,
    *,
    emergency: bool = False,
    accept_data_loss: bool = False,
    since_s: float | None = None,
) -> str:
    """Why this member cannot take over now; empty if it can.

    `since_s`: its newest heartbeat must have come after that, so that its health was asked anew.
    """
    seen, settings = situation.of(member), situation.group.settings
    report = seen.report
    if member.status is not Status.REPLICA:
        return f"it is {member.status.value}"
    if member.never_promote:
        return "it is never to be promoted"
    if member.interrupted:
        return "it has a termination notice"
    if seen.silent_s > settings.fresh_s:
        return f"silent for {seen.silent_s:.0f} s, limit {settings.fresh_s:g} s"
    if report.status != "running":
        return "it is stopping"
    if not report.watchdog_ok:
        return "its watchdog is not at work"
    behind = "" if accept_data_loss else _behind(situation, member, emergency)
    if behind or emergency:
        return behind
    return _ill(situation, member, since_s)


def _behind(situation: Situation, member: Member, emergency: bool) -> str:
    group, seen = situation.group, situation.of(member)
    report, settings = seen.report, group.settings
    if not group.served_epoch:
        return ""  # there is nothing yet that it could be behind
    if report.sync_epoch != group.served_epoch:
        return f"it follows epoch {report.sync_epoch}, not {group.served_epoch}"
    if report.sync_age_s is None or report.lag_s is None:
        return "it has not reported how far its copy is"
    age_s = report.sync_age_s + seen.silent_s
    if age_s > settings.sync_fresh_s:
        return f"its sync report is {age_s:.0f} s old, limit {settings.sync_fresh_s:g} s"
    limit_s = settings.max_lag_emergency_s if emergency else settings.max_lag_s
    name = "max_lag_emergency_s" if emergency else "max_lag_s"
    lag_s = max(0.0, report.lag_s - max(0.0, written_nothing_s(situation) - age_s))
    if lag_s > limit_s:
        return f"it lags {lag_s:g} s, {name} is {limit_s:g} s"
    return ""


def written_nothing_s(situation: Situation) -> float:
    """For how long the primary has written nothing, or has been ill: no copy falls further behind by that.

    A copy counts its lag from when it last followed the primary, so it rises while there is none to follow.
    Without this a standby that was ready when the primary was lost would be too far behind a little later,
    and no one could take over any more.
    """
    group, takeover = situation.group, situation.group.takeover
    ends = []
    if takeover is not None:
        ends.append(
            takeover.fenced_s if takeover.fenced else takeover.started_s + situation.policy.term.kept_s
        )
    last = group.member(takeover.old if takeover else group.primary or "")
    if last is not None:
        ends.append(situation.now_s - situation.of(last).unleased_s)
        ends.append(last.unhealthy_since_s or situation.now_s)
    return max(0.0, situation.now_s - min(ends, default=situation.now_s))


def _ill(situation: Situation, member: Member, since_s: float | None) -> str:
    seen = situation.of(member)
    if since_s is not None and seen.silent_s > situation.now_s - since_s:
        return "its health has not been asked since"
    if seen.report.healthy is None:
        return "its health is not known"
    return "" if seen.report.healthy else f"unhealthy: {seen.report.health_reason or 'no reason given'}"


def reached(position: str, wanted: str) -> bool:
    """Whether a copy at one position holds all up to the other: numbers and `X/Y` log positions are compared,
    anything else must be equal."""
    if position == wanted or not wanted:
        return True
    have, want = _number(position), _number(wanted)
    return have is not None and want is not None and have >= want


def _number(position: str) -> int | None:
    high, slash, low = position.partition("/")
    try:
        return (int(high, 16) << 32) + int(low, 16) if slash else int(position)
    except ValueError:
        return None


def ready_for(situation: Situation, takeover: Takeover, member: Member) -> str:
    """The same in a takeover: what was tried in it is not tried again."""
    if member.instance_id in takeover.rejected:
        return f"its promotion failed: {member.failure or 'no reason given'}"
    return unready(
        situation, member, emergency=takeover.emergency, accept_data_loss=takeover.accept_data_loss
    )
