"""A group at one moment, and a look at it, made by hand: for tests of one rule."""

from dataclasses import replace
from typing import Any

from holdfast.failover.group import Group, Member, Takeover
from holdfast.failover.ports import InstanceSeen, Report, Seen, Term
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Change, Policy, Situation

NOW_S, EPOCH = 100_000.0, 4
TERM = Term(10.0)
LONG_AGO_S = NOW_S - 5_000
WELL = Report(healthy=True, lag_s=0.0, sync_age_s=0.0, sync_epoch=EPOCH, highest_epoch=EPOCH)
SERVES = replace(WELL, hook_goal="promote", hook_epoch=EPOCH, hook_state="done", served_epoch=EPOCH)


def serving(**policy: Any) -> Situation:
    """`i-1` serves under its lease, `i-2` and `i-3` are ready."""
    members = tuple(
        Member(
            instance_id=instance_id, status=status, since_s=LONG_AGO_S, instance_type="m", az=az, region="eu"
        )
        for instance_id, status, az in (
            ("i-1", Status.PRIMARY, "a"), ("i-2", Status.REPLICA, "b"), ("i-3", Status.REPLICA, "c"),
        )
    )  # fmt: skip
    group = Group(
        client_id="c", agent_id="db", epoch=EPOCH, served_epoch=EPOCH, members=members, created_s=1.0
    )
    instances = {
        "i-1": InstanceSeen(lease_left_s=5.0, silent_s=1.0, report=SERVES),
        "i-2": InstanceSeen(silent_s=1.0, report=WELL),
        "i-3": InstanceSeen(silent_s=1.0, report=WELL),
    }
    made = Policy(term=TERM, pools=("m.a", "m.b", "m.c", "m.d"), **policy)
    return Situation(group, Seen(instances=instances, launches_left=5), NOW_S, made)


def taking_over(old: Status = Status.DEMOTING, **takeover: Any) -> Situation:
    """`i-1` has lost its epoch a second ago, and its lease is out; the candidate, if any, is promoting."""
    begun = serving()
    given: dict[str, Any] = {"old": "i-1", "reason": "lost", "code": "LEASE_LOST", "emergency": True}
    opened = Takeover(**{"started_s": NOW_S - 1, **given, **takeover})
    statuses = {"i-1": old, opened.candidate: Status.PROMOTING}
    members = tuple(
        replace(each, status=statuses[each.instance_id], since_s=NOW_S - 1)
        if each.instance_id in statuses
        else each
        for each in begun.group.members
    )
    situation = group(begun, members=members, epoch=EPOCH + 1, takeover=opened)
    return seen(situation, "i-1", lease_left_s=0.0)


def group(situation: Situation, **changes: Any) -> Situation:
    return replace(situation, group=replace(situation.group, **changes))


def settings(situation: Situation, **changes: Any) -> Situation:
    return group(situation, settings=replace(situation.group.settings, **changes))


def member(situation: Situation, instance_id: str, **changes: Any) -> Situation:
    found = situation.group.member(instance_id)
    assert found is not None
    return replace(situation, group=situation.group.put(replace(found, **changes)))


def seen(situation: Situation, instance_id: str, **changes: Any) -> Situation:
    """What its row shows: the lease, the silence."""
    changed = {instance_id: replace(situation.of(instance_id), **changes)}
    return look(situation, instances={**situation.seen.instances, **changed})


def said(situation: Situation, instance_id: str, **changes: Any) -> Situation:
    """What its agent reports."""
    return seen(situation, instance_id, report=replace(situation.of(instance_id).report, **changes))


def look(situation: Situation, **changes: Any) -> Situation:
    return replace(situation, seen=replace(situation.seen, **changes))


def changed(answer: object) -> Group:
    assert isinstance(answer, Change), answer
    return answer.group
