"""Several invocations at once: pauses of any length, stale looks, a reclaim, an operator who gives up.

The lock is left out on purpose: it is for thrift, and nothing here may depend on it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from holdfast.autoscaler import shrink
from holdfast.autoscaler.place import Node
from holdfast.autoscaler.ports import Drain, Drained, Effect, Seen, Terminate, Uncordon
from holdfast.autoscaler.record import Cluster, Cordon, Status
from holdfast.autoscaler.settings import Settings
from holdfast.kernel import Happened, Workflow, Write
from holdfast.sim.explore import Explored, Move, explore
from holdfast.sim.interleave import IDLE, Doing, InLine, Rules, Seeing, Table, commits, hand_moves, judged
from tests.deep import DEEP
from tests.model.legal import Lawful, lawful
from tests.model.remember import Numbers
from tests.proof import prove

POLICY = shrink.Policy(min_workers=2, max_batch_down=1, cooldown_down_s=0)


@dataclass(frozen=True, slots=True)
class Fleet:
    alive: frozenset[str]
    cordons: frozenset[Cordon] = frozenset()
    begun: int = 0
    reclaims_left: int = 1
    give_ups_left: int = 1


Here = Table[Cluster, Fleet]
GiveUp = Callable[[Cluster, str, float, shrink.Policy], Write[Cluster] | None]
FIRST = ("i-1", "i-2", "i-3")


def start(*, hands: int, reclaims: int = 1, give_ups: int = 1) -> Here:
    fleet = Fleet(frozenset(FIRST), reclaims_left=reclaims, give_ups_left=give_ups)
    return Table(Cluster(), fleet, (IDLE,) * hands)


def looks(table: Here, n: int) -> Iterator[Seeing]:
    world = table.world
    me = f"tick-{world.begun}"
    yield "looks", seen(me, world.alive, world.cordons), True
    if world.alive != frozenset(FIRST):
        yield "looks at an old listing", seen(me, frozenset(FIRST), world.cordons), False


def seen(me: str, alive: frozenset[str], cordons: frozenset[Cordon]) -> Seen:
    nodes = tuple(Node(instance_id, "a", n) for n, instance_id in enumerate(FIRST) if instance_id in alive)
    return Seen(me=me, wanted=2, nodes=nodes, cordons=cordons)


def does(table: Here, effect: Effect) -> Iterator[Doing[Fleet]]:
    world = table.world
    match effect:
        case Drain(instance_id, action_id):
            after = replace(
                world,
                cordons=world.cordons
                | ({Cordon(instance_id, action_id)} if instance_id in world.alive else set()),
            )
            yield "", after, Happened(Drained()), True
            yield ", blocked", after, Happened(Drained("a pod that must stay")), False
        case Uncordon(instance_id, action_id):
            yield (
                "",
                replace(world, cordons=world.cordons - {Cordon(instance_id, action_id)}),
                Happened(None),
                True,
            )
        case Terminate(instance_id):
            left = frozenset(c for c in world.cordons if c.instance_id != instance_id)
            yield "", replace(world, alive=world.alive - {instance_id}, cordons=left), Happened(None), True


def judge(before: Here, after: Here) -> str:
    was, now = before.record.scale_down, after.record.scale_down
    if was and now and was.action_id != now.action_id:
        return f"S-A1: action {was.action_id} was replaced by {now.action_id} before it ended"
    if was and not now and was.having(Status.CONDEMNED):
        return f"S-A4: {was.action_id} ended and forgot that it had condemned {was.having(Status.CONDEMNED)}"
    for gone in sorted(before.world.alive - after.world.alive):
        if before.world.reclaims_left != after.world.reclaims_left:
            continue  # the cloud took it, not we
        if gone not in {cordon.instance_id for cordon in before.world.cordons}:
            return f"S-A4: {gone} was terminated in service"
        if not was or gone not in was.having(Status.CONDEMNED, Status.GONE):
            return f"S-A4: {gone} was terminated without being condemned"
    taken = 1 - after.world.reclaims_left
    if len(after.world.alive) < POLICY.min_workers - taken:
        return f"S-A5: {sorted(after.world.alive)} is below the floor of {POLICY.min_workers}"
    return ""


def committed(table: Here, kinds: list[str]) -> Fleet:
    return replace(table.world, begun=table.world.begun + kinds.count("beginScaleDown"))


def settled(table: Here) -> bool:
    """L-A1, L-A2: no action is open, and no cordon of ours is left on a living node."""
    strays = {cordon.instance_id for cordon in table.world.cordons} & table.world.alive
    return table.record.scale_down is None and not strays and not table.record.strays


def search(
    workflow: Workflow[Cluster, Seen, Effect],
    first: Here,
    *,
    give_up: GiveUp = shrink.give_up,
    allowed: Lawful | None = None,
) -> Explored:
    judge_move = allowed or lawful(Settings(remember_s=POLICY.remember_s), Numbers())
    rules: Rules[Cluster, Fleet] = Rules(
        workflow,
        looks,
        does,
        judge,
        committed,  # type: ignore[arg-type]
        lawful=lambda table, write: judge_move(table.record, write, 0.0),
    )

    def moves(table: Here) -> Iterator[Move[Here]]:
        yield from hand_moves(table, rules)
        world = table.world
        if world.reclaims_left:
            for victim in sorted(world.alive):
                taken = replace(
                    world,
                    alive=world.alive - {victim},
                    cordons=frozenset(c for c in world.cordons if c.instance_id != victim),
                    reclaims_left=0,
                )
                yield Move(
                    f"the cloud takes {victim} back", judged(table, rules, replace(table, world=taken)), False
                )
        if world.give_ups_left and (write := give_up(table.record, "an operator", 0.0, POLICY)):
            tired = replace(table, world=replace(world, give_ups_left=0))
            yield from commits(tired, rules, write, "the operator gives up", healthy=False)

    return explore(
        first, moves, broken=lambda table: table.broken, settled=settled, canonical=InLine[Cluster, Fleet]()
    )


@pytest.mark.parametrize(
    ("hands", "disasters", "at_least"),
    [(2, 0, 500), pytest.param(3, 0, 20_000, marks=DEEP), pytest.param(2, 1, 20_000, marks=DEEP)],
)
def test_hands_do_no_harm_and_can_always_end_well(hands: int, disasters: int, at_least: int) -> None:
    """Two or three hands alone; two with a reclaim and an operator who gives up at the worst moment."""
    result = search(shrink.workflow(POLICY), start(hands=hands, reclaims=disasters, give_ups=disasters))

    assert result.states >= at_least
    prove("explore", "shrink", hands=hands, nodes=3, states=result.states, edges=result.edges)
