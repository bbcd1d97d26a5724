"""Promises about groups that were taken over from the tables of before: their instances had no agents."""

from typing import Any

from holdfast.failover.asks import Promote, promote, revive
from holdfast.failover.group import TWO_PRIMARIES, Degraded, Group, Member
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Policy, Situation
from holdfast.kernel import Event, Write
from tests.failover.model.bench import AGENT, CLIENT, TERM, Bench
from tests.failover.model.promises import Make


def adopted(make: Make, *members: Member, **said: Any) -> Bench:
    """As a migration writes it, and then all but the first enrol."""
    policy = Policy(term=TERM)
    made = Bench(policy=policy, flow=make(policy))
    group = Group(client_id=CLIENT, agent_id=AGENT, epoch=1, members=members, created_s=made.now, **said)
    made.commit(Write(group, (Event("migrated", made.now),)))
    for member in members[1:]:
        made.enrol(member.instance_id)
    return made


def a_primary_without_an_agent_is_not_judged_by_its_silence(make: Make) -> None:
    serving = Member(instance_id="i-1", status=Status.PRIMARY)
    made = adopted(make, serving, Member(instance_id="i-2", status=Status.REPLICA), served_epoch=1)
    made.live(60)
    assert made.group.primary == "i-1", "nothing stops it: two would serve"
    degraded = made.group.degraded
    assert degraded is not None
    assert "has never been heard of" in degraded.reason
    made.enrol("i-1")
    made.live(3)
    assert made.group.degraded is None
    made.silent.add("i-1")
    made.live(15)
    assert made.group.primary == "i-2", "once it was heard of, its silence counts"


def which_of_two_primaries_is_right_is_an_operators_word(make: Make) -> None:
    both = [Member(instance_id=name, status=Status.ZOMBIE) for name in ("i-1", "i-2")]
    replica = Member(instance_id="i-3", status=Status.REPLICA)
    said = Degraded(1_000.0, TWO_PRIMARIES, "i-1 and i-2 were both primary")
    made = adopted(make, *both, replica, degraded=said)
    made.live(60)
    assert made.group.holder is None, "a copy of either is not the newest data"
    assert made.group.degraded == said, "why is not forgotten"
    made.commit(revive(made.group, "i-2", "ada", made.now))
    made.live(15)
    assert made.group.holder is None, "it is revived, and not yet chosen"
    situation = Situation(made.group, made.seen(), made.now, made.policy)
    made.commit(promote(situation, Promote(instance_id="i-2", by="ada")))
    made.live(15)
    assert made.group.primary == "i-2"
    assert made.group.degraded is None
