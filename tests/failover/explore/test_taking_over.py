"""Servers and instances: stale promoters, batched heartbeats, a paused primary that wakes, failed promotions.

Time is a move like any other.  A lease is LEASE ticks long; every instance and the
database count their own, and between any two moves any number of ticks may pass.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from holdfast.failover.goals import Do as Goal
from holdfast.failover.goals import goal_of
from holdfast.failover.group import Group, GroupSettings, Member, NoticeKind
from holdfast.failover.ports import Effect, InstanceSeen, Report, Seen, Term
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Policy
from holdfast.failover.workflow import workflow
from holdfast.kernel import Workflow, Write
from holdfast.testing.explore import Explored, Move, explore
from holdfast.testing.interleave import IDLE, Doing, InLine, Rules, Seeing, Table, hand_moves, judged
from holdfast.testing.legal.group import illegal
from tests.deep import DEEP
from tests.proof import prove

LEASE = 2
POLICY = Policy(term=Term(float(LEASE)))
Said = tuple[str, int, str]
NOTHING: Said = ("", 0, "none")


@dataclass(frozen=True, slots=True)
class Beat:
    """A heartbeat under way, or its answer; `age` counts from when it was sent."""

    epoch: int
    said: Said
    age: int = 0
    answered: bool = False
    granted: bool = False
    do: Goal = Goal.FOLLOW
    goal_epoch: int = 0


@dataclass(frozen=True, slots=True)
class Agent:
    """What one instance believes.  It serves while it counts a lease."""

    highest: int = 1
    epoch: int = 0
    left: int = 0
    said: Said = NOTHING
    beat: Beat | None = None


@dataclass(frozen=True, slots=True)
class World:
    agents: tuple[Agent, ...]
    stored_left: tuple[int, ...]
    """The leases as the database counts them."""
    stored_said: tuple[Said, ...]
    fails: frozenset[int] = frozenset()
    """Whose promotion fails."""
    dead: frozenset[int] = frozenset()
    """Which serve until their lease is over, and hear nothing any more."""


Here = Table[Group, World]


def start(hands: int, members: int, *, noticed: bool, fails: frozenset[int], dead: frozenset[int]) -> Here:
    group = Group(
        client_id="c", agent_id="a", epoch=1, served_epoch=1, settings=GroupSettings(zombie_retention_s=1.0),
        members=tuple(
            Member(
                instance_id=f"i-{n + 1}", status=Status.REPLICA if n else Status.PRIMARY,
                notice=NoticeKind.TERMINATION if noticed and not n else NoticeKind.NONE,
            )
            for n in range(members)
        ),
    )  # fmt: skip
    primary = Agent(epoch=1, left=LEASE, said=("promote", 1, "done"))
    agents = (primary, *(Agent() for _ in range(members - 1)))
    left = (LEASE, *(0 for _ in range(members - 1)))
    return Table(group, World(agents, left, tuple(a.said for a in agents), fails, dead), (IDLE,) * hands)


def looks(table: Here, n: int) -> Iterator[Seeing]:
    world, group = table.world, table.record
    instances = {
        member.instance_id: InstanceSeen(
            lease_left_s=float(left), silent_s=0.0,
            report=Report(
                hook_goal=said[0], hook_epoch=said[1], hook_state=said[2], healthy=True, lag_s=0.0,
                sync_age_s=0.0, sync_epoch=group.served_epoch, highest_epoch=0,
            ),
        )
        for member, left, said in zip(group.members, world.stored_left, world.stored_said, strict=True)
    }  # fmt: skip
    yield "looks", Seen(instances=instances), True


def does(table: Here, effect: Effect) -> Iterator[Doing[World]]:
    raise AssertionError(f"without machines there is nothing to do: {effect}")


def agent_moves(table: Here, rules: Rules[Group, World]) -> Iterator[Move[Here]]:
    group, world = table.record, table.world
    for n, agent in enumerate(world.agents):
        if n in world.dead:
            continue
        name = group.members[n].instance_id
        match agent.beat:
            case None:
                if _has_reason_to_speak(group, world, n):
                    sent = replace(agent, beat=Beat(agent.highest, agent.said))
                    yield move(table, rules, f"{name} sends a heartbeat", with_agent(world, n, sent))
            case Beat(answered=False) as beat:
                yield move(table, rules, f"a batch stores the heartbeat of {name}", stored(table, n, beat))
                lost = with_agent(world, n, replace(agent, beat=None))
                yield move(table, rules, f"the heartbeat of {name} is lost", lost, False)
            case Beat() as beat:
                heard = with_agent(world, n, hears(agent, beat, n in world.fails))
                yield move(table, rules, f"{name} hears its answer", heard)
                yield move(
                    table, rules, f"the answer to {name} is lost",
                    with_agent(world, n, replace(agent, beat=None)), False,
                )  # fmt: skip


def _has_reason_to_speak(group: Group, world: World, n: int) -> bool:
    """Others have nothing to win, to lose or to tell."""
    agent, member = world.agents[n], group.members[n]
    told = agent.said != world.stored_said[n]
    return told or bool(agent.left) or member.status in (Status.PROMOTING, Status.PRIMARY, Status.DEMOTING)


def stored(table: Here, n: int, beat: Beat) -> World:
    """The row takes report and lease, and the answer is what stands there afterwards."""
    group, world = table.record, table.world
    name = group.members[n].instance_id
    granted = group.holder == name and group.epoch == beat.epoch
    goal = goal_of(group, name, 0, 0.0)
    answer = replace(
        beat, answered=True, granted=granted, epoch=group.epoch, do=goal.do, goal_epoch=goal.epoch
    )
    left = tuple(LEASE if granted and m == n else each for m, each in enumerate(world.stored_left))
    said = tuple(beat.said if m == n else each for m, each in enumerate(world.stored_said))
    after = with_agent(world, n, replace(world.agents[n], beat=answer))
    return replace(after, stored_left=left, stored_said=said)


def hears(agent: Agent, beat: Beat, fails: bool) -> Agent:
    heard = replace(agent, beat=None, highest=max(agent.highest, beat.epoch))
    if heard.highest > agent.highest:
        heard = replace(heard, left=0, epoch=0)  # another epoch: stop until granted anew
    if beat.goal_epoch < heard.highest:
        return heard
    if beat.do in (Goal.DEMOTE, Goal.STOP):
        return replace(heard, left=0, epoch=0, said=("demote", beat.goal_epoch, "done"))
    if beat.do is Goal.PROMOTE and fails:
        return replace(heard, left=0, epoch=0, said=("promote", beat.goal_epoch, "failed"))
    if beat.do in (Goal.PROMOTE, Goal.SERVE):
        heard = replace(heard, epoch=beat.goal_epoch, said=("promote", beat.goal_epoch, "done"))
        if beat.granted and beat.epoch == heard.epoch:
            heard = replace(heard, left=max(heard.left, LEASE - beat.age))
    return heard


def later(world: World) -> World:
    def older(agent: Agent) -> Agent:
        beat = agent.beat and replace(agent.beat, age=min(LEASE, agent.beat.age + 1))
        return replace(agent, left=max(0, agent.left - 1), beat=beat)

    left = tuple(max(0, left - 1) for left in world.stored_left)
    return replace(world, agents=tuple(map(older, world.agents)), stored_left=left)


def with_agent(world: World, n: int, agent: Agent) -> World:
    return replace(world, agents=(*world.agents[:n], agent, *world.agents[n + 1 :]))


def move(
    table: Here, rules: Rules[Group, World], label: str, world: World, healthy: bool = True
) -> Move[Here]:
    return Move(label, judged(table, rules, replace(table, world=world)), healthy)


def judge(before: Here, after: Here) -> str:
    serving = [after.record.members[n].instance_id for n, a in enumerate(after.world.agents) if a.left]
    if len(serving) > 1:
        return f"S-F3: {' and '.join(serving)} serve at once"
    return ""


def lawful(table: Here, write: Write[Group]) -> str:
    return "; ".join(illegal(table.record, write.value, write.events))


def settled(table: Here) -> bool:
    """L-F1: a member that is not interrupted is primary, and serves."""
    primary = table.record.primary
    member = table.record.member(primary or "")
    if member is None or member.interrupted:
        return False
    n = [m.instance_id for m in table.record.members].index(member.instance_id)
    return table.world.agents[n].left > 0


def search(
    flow: Workflow[Group, Seen, Effect] | Any,
    *,
    hands: int,
    members: int = 2,
    noticed: bool = True,
    fails: frozenset[int] = frozenset(),
    dead: frozenset[int] = frozenset(),
    epochs: int = 4,
    lively: bool = True,
) -> Explored:
    rules: Rules[Group, World] = Rules(flow, looks, does, judge, lawful=lawful)

    def moves(table: Here) -> Iterator[Move[Here]]:
        if table.record.epoch >= epochs:
            return  # as many revocations as this search looks at
        yield from hand_moves(table, rules)
        yield from agent_moves(table, rules)
        yield move(table, rules, "a tick passes", later(table.world))

    return explore(
        start(hands, members, noticed=noticed, fails=fails, dead=dead),
        moves,
        broken=lambda table: table.broken,
        settled=lambda table: not lively or table.record.epoch >= epochs or settled(table),
        canonical=InLine[Group, World](),
    )


CASES: dict[str, dict[str, Any]] = {
    "a notice, one server": {"hands": 1},
    "a lease is lost, one server": {"hands": 1, "noticed": False, "epochs": 3},
    "the primary is dead": {"hands": 1, "noticed": False, "dead": frozenset({0})},
    "the only candidate fails": {"hands": 1, "noticed": False, "fails": frozenset({1}), "epochs": 4},
}
LARGE: dict[str, dict[str, Any]] = {
    "a notice, two servers": {"hands": 2},
    "a lease is lost, two servers": {"hands": 2, "noticed": False, "epochs": 3},
    "the first of two candidates fails": {"hands": 1, "members": 3, "fails": frozenset({1}), "epochs": 4},
}


@pytest.mark.parametrize("case", [*CASES, *(pytest.param(case, marks=DEEP) for case in LARGE)])
def test_never_two_serve_and_one_serves_again(case: str) -> None:
    asked = {**CASES, **LARGE}[case]
    result = search(workflow(POLICY), **asked)

    prove("explore", "takeover", case=case, states=result.states, edges=result.edges)
