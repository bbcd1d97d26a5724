"""Two servers, three instances: stale promoters, batched heartbeats, a paused primary that wakes.

Time is a move like any other.  A lease is LEASE ticks long; every instance and the
database count their own, and between any two moves any number of ticks may pass.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from holdfast.failover import takeover
from holdfast.failover.group import Group, Member
from holdfast.failover.ports import Effect, Fence, Seen
from holdfast.failover.roles import Role
from holdfast.kernel import Happened, Workflow
from holdfast.testing.explore import Explored, Move, explore
from holdfast.testing.interleave import IDLE, Doing, InLine, Rules, Seeing, Table, hand_moves, judged
from tests.deep import DEEP
from tests.proof import prove

LEASE = 2
IDS = ("i-1", "i-2", "i-3")


@dataclass(frozen=True, slots=True)
class Beat:
    """A heartbeat under way, or its answer; `age` counts from when it was sent."""

    epoch: int
    age: int = 0
    answered: bool = False
    granted: bool = False


@dataclass(frozen=True, slots=True)
class Agent:
    """What one instance believes.  It serves while it counts a lease."""

    epoch: int = 0
    left: int = 0
    beat: Beat | None = None
    stopped_epoch: int = -1
    """Told to stop: answers of this epoch and older ones are ignored."""


@dataclass(frozen=True, slots=True)
class World:
    agents: tuple[Agent, ...]
    stored_left: tuple[int, ...] = (0, 0, 0)
    """The leases as the database counts them."""
    interrupted: frozenset[str] = frozenset()


Here = Table[Group, World]


def start(hands: int) -> Here:
    members = (
        Member("i-1", Role.PRIMARY, True),
        Member("i-2", Role.REPLICA, True),
        Member("i-3", Role.REPLICA, True),
    )
    agents = (Agent(epoch=1, left=LEASE), Agent(), Agent())
    group = Group(agent_id="a", epoch=1, members=members)
    return Table(group, World(agents, stored_left=(LEASE, 0, 0)), (IDLE,) * hands)


def looks(table: Here, n: int) -> Iterator[Seeing]:
    world = table.world
    leases = dict(zip(IDS, map(float, world.stored_left), strict=True))
    yield "looks", Seen(leases_left_s=leases, interrupted=world.interrupted), True


def does(table: Here, effect: Effect) -> Iterator[Doing[World]]:
    match effect:
        case Fence(instance_id, ended_epoch):
            n = IDS.index(instance_id)
            agent = table.world.agents[n]
            if agent.epoch <= ended_epoch:
                agent = replace(agent, left=0, stopped_epoch=max(agent.stopped_epoch, ended_epoch))
            yield "", with_agent(table.world, n, agent), Happened(True), True
            yield ", unheard", table.world, Happened(False), False


def agent_moves(table: Here, rules: Rules[Group, World]) -> Iterator[Move[Here]]:
    group, world = table.record, table.world
    for n, agent in enumerate(world.agents):
        match agent.beat:
            case None if agent.left or group.primary == IDS[n]:  # others have nothing to win or to lose
                yield move(
                    table,
                    rules,
                    f"{IDS[n]} sends a heartbeat",
                    with_agent(world, n, replace(agent, beat=Beat(agent.epoch))),
                )
            case Beat(answered=False) as beat:
                granted = group.primary == IDS[n] and group.epoch == beat.epoch
                answer = Beat(group.epoch, beat.age, answered=True, granted=granted)
                after = with_agent(world, n, replace(agent, beat=answer))
                if granted:
                    stored = tuple(LEASE if m == n else left for m, left in enumerate(world.stored_left))
                    after = replace(after, stored_left=stored)
                yield move(table, rules, f"a batch stores the heartbeat of {IDS[n]}", after)
                yield move(
                    table,
                    rules,
                    f"the heartbeat of {IDS[n]} is lost",
                    with_agent(world, n, replace(agent, beat=None)),
                    False,
                )
            case Beat(epoch, age, granted=granted):
                heard = replace(agent, beat=None, epoch=max(epoch, agent.epoch))
                if epoch != agent.epoch:
                    heard = replace(heard, left=0)  # another epoch: stop until granted anew
                elif granted and epoch > agent.stopped_epoch:
                    heard = replace(heard, left=max(agent.left, LEASE - age))
                yield move(table, rules, f"{IDS[n]} hears its answer", with_agent(world, n, heard))


def result(world: World) -> World:
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
    serving = [IDS[n] for n, agent in enumerate(after.world.agents) if agent.left]
    if len(serving) > 1:
        return f"S-F3: {' and '.join(serving)} serve at once"
    if after.record.epoch < before.record.epoch:
        return "the epoch went back"
    return ""


def settled(table: Here) -> bool:
    """L-F1: an instance that is not interrupted is primary, and serves."""
    primary = table.record.primary
    if primary is None or primary in table.world.interrupted:
        return False
    return table.world.agents[IDS.index(primary)].left > 0


def search(
    workflow: Workflow[Group, Seen, Effect], *, hands: int, interrupted: tuple[str, ...], lively: bool
) -> Explored:
    rules: Rules[Group, World] = Rules(workflow, looks, does, judge)

    def moves(table: Here) -> Iterator[Move[Here]]:
        yield from hand_moves(table, rules)
        yield from agent_moves(table, rules)
        yield move(table, rules, "a tick passes", result(table.world))
        for victim in interrupted:
            if victim not in table.world.interrupted:
                noticed = replace(table.world, interrupted=table.world.interrupted | {victim})
                yield move(table, rules, f"{victim} gets a notice", noticed, False)

    return explore(
        start(hands),
        moves,
        broken=lambda table: table.broken,
        settled=settled if lively else lambda table: True,
        canonical=InLine[Group, World](),
    )


@pytest.mark.parametrize(
    ("hands", "interrupted"), [(2, ("i-1",)), pytest.param(1, ("i-1", "i-2"), marks=DEEP)]
)
def test_never_two_serve_and_one_serves_again(hands: int, interrupted: tuple[str, ...]) -> None:
    policy = takeover.Policy(grace_s=float("inf"))
    result = search(takeover.workflow(policy), hands=hands, interrupted=interrupted, lively=True)

    prove("explore", "takeover", hands=hands, instances=3, states=result.states, edges=result.edges)


def test_never_two_serve_however_hastily_a_primary_is_judged_dead() -> None:
    """Without any grace every primary may be replaced before it has served; still never two."""
    result = search(takeover.workflow(takeover.Policy(grace_s=0.0)), hands=1, interrupted=(), lively=False)

    prove("explore", "takeover", hands=1, instances=3, states=result.states, edges=result.edges)
