"""How many standbys there are, and where: launch intents, and what becomes of them.

Rule 1: an intent is written before the machine is asked for, with the token of that attempt.
Rule 2: never in the primary's pool, and not in one that failed lately; of the others the one whose machines
        were ready soonest.
Rule 3: a notice to the primary wants one standby in another pool: one open emergency intent a group, however
        many notices come.  With a termination notice, on-demand follows when spot gave nothing in time.
"""

from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256

from holdfast.failover.events import FailoverEvent
from holdfast.failover.group import OPEN_REPLICA, Group, Member, NoticeKind, Replica, ReplicaStatus, after
from holdfast.failover.ports import Launch, Launched, NotLaunched
from holdfast.failover.roles import Move, Status
from holdfast.failover.rules.loss import primary_of
from holdfast.failover.rules.rule import Answer, Change, Situation
from holdfast.failover.rules.standby import unready
from holdfast.kernel import Do, Wait

SPOT, ON_DEMAND = "spot", "on-demand"
FORGET_FAILED_S = 24 * 3600.0
"""A late first launch of a token that failed is told from a stranger for so long."""


def note_standbys(situation: Situation) -> Answer:
    """A launched machine has registered, or is ready: the intent says so."""
    for replica in situation.group.replicas:
        member = situation.group.member(replica.instance_id)
        if member is None or member.status is not Status.REPLICA:
            continue
        if replica.status is ReplicaStatus.SYNCING and not unready(situation, member, emergency=True):
            took_s = situation.now_s - replica.created_s
            event = situation.told(
                FailoverEvent.STANDBY_READY, member.instance_id, replica.pool, ready_s=round(took_s, 3)
            )
            return Change(put(situation.group, replace(replica, status=ReplicaStatus.READY)), (event,))
    return None


def launch(situation: Situation) -> Answer:
    """What is intended is asked for, again and again under the same token until the cloud has answered."""
    group = situation.group
    if not situation.policy.machines:
        return None
    asked = tuple(
        Launch(r.replica_id, r.token, r.pool, r.market, r.template_version, group.subject)
        for r in group.replicas
        if r.status is ReplicaStatus.LAUNCHING and not r.instance_id
    )
    return Do(asked) if asked else None


def give_up(situation: Situation) -> Answer:
    """A launch that gave no machine in time, or whose machine never registered.

    Of a machine that is silence too: it may be the primary of a database that came back from the past.
    """
    for replica in situation.group.replicas:
        if replica.instance_id and not situation.seen.may_judge:
            continue
        if replica.status is ReplicaStatus.LAUNCHING and situation.now_s >= late_s(situation, replica):
            reason = "no machine" if not replica.instance_id else f"{replica.instance_id} never registered"
            return _failed(situation, situation.group, replica, f"{reason} in time", "TIMED_OUT")
    return None


def late_s(situation: Situation, replica: Replica) -> float:
    """When it is given up.  A machine that is there may boot for as long as any, however urgent it is."""
    boots_s = situation.group.settings.launch_timeout_s if replica.instance_id else 0.0
    return max(replica.deadline_s, replica.created_s + boots_s)


def _failed(situation: Situation, group: Group, replica: Replica, reason: str, code: str) -> Change:
    ended = replace(replica, status=ReplicaStatus.FAILED, ended_s=situation.now_s, failure=reason)
    group = put(group, ended)
    member = group.member(replica.instance_id)
    events = [situation.told(FailoverEvent.LAUNCH_FAILED, replica.replica_id, reason, code)]
    if member is not None and member.status is Status.LAUNCHING:
        condemned = replace(after(member, Move.CONDEMNED, situation.now_s), terminate_at_s=situation.now_s)
        group = group.put(condemned)
        events.append(situation.told(FailoverEvent.TERMINATING, member.instance_id, reason, code))
    return Change(group, tuple(events))


def settle_launch(situation: Situation, effect: Launch, answer: Launched | NotLaunched) -> Change | None:
    """What became of a launch; None if it is old news."""
    group, replica = situation.group, situation.group.replica(effect.replica_id)
    if replica is None or replica.token != effect.token or replica.instance_id:
        return None
    if replica.status is not ReplicaStatus.LAUNCHING:
        return None  # given up: the machine is found by its tag, and ended
    if isinstance(answer, NotLaunched):
        return _failed(situation, group, replica, answer.reason, answer.code)
    instance_type, _, az = replica.pool.rpartition(".")
    member = group.member(answer.instance_id) or Member(
        instance_id=answer.instance_id, status=Status.LAUNCHING, since_s=situation.now_s,
        instance_type=answer.instance_type or instance_type, az=answer.az or az,
        replica_id=replica.replica_id, emergency=replica.emergency,
    )  # fmt: skip
    status = ReplicaStatus.LAUNCHING if member.status is Status.LAUNCHING else ReplicaStatus.SYNCING
    group = put(group, replace(replica, instance_id=answer.instance_id, status=status))
    if group.member(answer.instance_id) is None:
        group = replace(group, members=(*group.members, member))
    event = situation.told(FailoverEvent.LAUNCHED, answer.instance_id, replica.pool)
    return Change(group, (event,))


def forget(situation: Situation) -> Answer:
    """Failed launches are kept until no late machine of theirs can come any more."""
    for replica in situation.group.replicas:
        gone = replica.status is ReplicaStatus.FAILED and situation.group.member(replica.instance_id) is None
        if gone and situation.now_s >= replica.ended_s + FORGET_FAILED_S:
            left = tuple(r for r in situation.group.replicas if r is not replica)
            event = situation.told(FailoverEvent.LAUNCH_FORGOTTEN, replica.replica_id)
            return Change(replace(situation.group, replicas=left), (event,))
    return None


def staff(situation: Situation) -> Answer:
    """A standby is lacking: intend one."""
    if not situation.policy.machines or situation.group.paused_until_s > situation.now_s:
        return None
    primary = primary_of(situation)
    noticed = primary is not None and primary.notice is not NoticeKind.NONE
    takeover = situation.group.takeover
    urgent = noticed or (takeover is not None and not takeover.candidate)
    wanted = situation.group.settings.standbys_wanted
    lacking = len(good_standbys(situation)) < max(wanted, int(bool(situation.group.switch)))
    if not lacking and not (urgent and not covered(situation)):
        return None
    change = plan_launch(situation, emergency=urgent)
    if change is not None:
        return change
    return situation.again(why_not_launched(situation))


def good_standbys(situation: Situation) -> tuple[str, ...]:
    """Standbys that count: running ones that are neither interrupted nor silent, and open intents."""
    running = [
        m.instance_id
        for m in situation.group.having(Status.REPLICA)
        if not m.interrupted
        and not m.never_promote
        and not (situation.seen.may_judge and unheard_s(situation, m) > situation.policy.dead_standby_s)
    ]
    coming = [r.replica_id for r in _open(situation.group) if r.status is ReplicaStatus.LAUNCHING]
    return (*running, *coming)


def unheard_s(situation: Situation, member: Member) -> float:
    """How long it has had time to say something, and did not."""
    return min(situation.of(member).silent_s, situation.now_s - member.since_s)


def covered(situation: Situation) -> bool:
    """Whether a standby in another pool than the primary's is ready, or on its way."""
    primary = primary_of(situation)
    pool = primary.pool if primary else ""
    if any(r.pool != pool for r in _open(situation.group) if r.emergency or not r.instance_id):
        return True
    return any(
        not unready(situation, m, emergency=True) and (not pool or m.pool != pool)
        for m in situation.group.having(Status.REPLICA)
    )


def emergency_replica(group: Group) -> str:
    """The open emergency intent; empty if there is none."""
    return next((r.replica_id for r in _open(group) if r.emergency), "")


def plan_launch(situation: Situation, *, emergency: bool) -> Change | None:
    """A launch intent in the best pool; None where none can be had now."""
    group, now_s, settings = situation.group, situation.now_s, situation.group.settings
    if situation.seen.launches_left <= 0:
        return None
    failed = [r for r in group.replicas if r.status is ReplicaStatus.FAILED]
    late = emergency and any(now_s - r.created_s <= settings.launch_timeout_s for r in failed if r.emergency)
    spot, demand = (_pool(situation, market) for market in (SPOT, ON_DEMAND))
    waited = any(now_s - r.created_s >= settings.on_demand_after_s for r in failed if r.emergency)
    market = ON_DEMAND if emergency and late and (waited or not spot) else SPOT
    pool = demand if market == ON_DEMAND else spot
    if not pool:
        return None
    limit_s = settings.on_demand_after_s if emergency and market == SPOT else settings.launch_timeout_s
    replica_id = _replica_id(group, now_s)
    replica = Replica(
        replica_id=replica_id, token=_digest("token", group.subject, replica_id), pool=pool, market=market,
        template_version=situation.policy.template_version, emergency=emergency, created_s=now_s,
        deadline_s=now_s + limit_s, attempt=1 + len(failed),
    )  # fmt: skip
    reason = f"{market} in {pool}" + (", emergency" if emergency else "")
    event = situation.told(FailoverEvent.LAUNCH_INTENDED, replica_id, reason)
    return Change(replace(group, replicas=(*group.replicas, replica)), (event,))


def _pool(situation: Situation, market: str) -> str:
    """The fastest to ready, neither the holder's nor one that failed lately in this market; empty: none."""
    group = situation.group
    failed = {
        r.pool
        for r in group.replicas
        if r.status is ReplicaStatus.FAILED
        and r.market == market
        and situation.now_s < r.ended_s + group.settings.pool_penalty_s
    }
    holder = group.member(group.holder or "")
    taken = {holder.pool} if holder else set()
    fit = [pool for pool in situation.policy.pools if pool not in failed | taken]
    ready_s, prior_s = situation.seen.ready_s, situation.policy.ready_prior_s
    return min(fit, key=lambda pool: ready_s.get(pool, prior_s), default="")


def why_not_launched(situation: Situation) -> str:
    if situation.seen.launches_left <= 0:
        return "a standby is lacking, and the launch budget is used up"
    return "a standby is lacking, and no pool is left: " + (
        ", ".join(situation.policy.pools) or "no pools are configured"
    )


def _replica_id(group: Group, now_s: float) -> str:
    taken = {replica.replica_id for replica in group.replicas}
    names = (f"r-{_digest(group.subject, f'{now_s:.6f}', str(n))[:16]}" for n in range(len(taken) + 1))
    return next(name for name in names if name not in taken)


def _digest(*parts: str) -> str:
    return sha256("\n".join(parts).encode()).hexdigest()[:32]


def _open(group: Group) -> Iterable[Replica]:
    return (replica for replica in group.replicas if replica.status in OPEN_REPLICA)


def put(group: Group, replica: Replica) -> Group:
    """Replace an intent by what it has become."""
    return replace(
        group, replicas=tuple(replica if r.replica_id == replica.replica_id else r for r in group.replicas)
    )


def next_deadline(situation: Situation) -> Wait | None:
    """When an open launch is given up."""
    open_s = [late_s(situation, r) for r in situation.group.replicas if r.status is ReplicaStatus.LAUNCHING]
    return Wait(min(open_s), "a machine is on its way") if open_s else None
