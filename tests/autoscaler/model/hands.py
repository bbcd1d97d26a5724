"""Several hands on the small fleet: everything that they, the cloud and the clock may do next."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace

from holdfast.autoscaler.ports import (
    Admit,
    CordonNode,
    DeleteNode,
    Drain,
    Drained,
    Effect,
    ForgetNotices,
    LaunchInstances,
)
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.cloud import Notice, NoticeKind, State
from holdfast.cloud.launches import Refusal, Refused
from holdfast.kernel import Do, Happened, Write
from holdfast.testing.explore import Explored, Move, explore
from holdfast.testing.interleave import IDLE, Doing, Hand, Rules, Seeing, Table, hand_moves
from tests.autoscaler.model import rules
from tests.autoscaler.model.fleet import Machine, World, booted, later, noticed, perform, taken_back
from tests.autoscaler.model.legal import Lawful, lawful
from tests.autoscaler.model.quiet import Quiet, Whole, told_apart
from tests.autoscaler.model.remember import Numbers, Snapshots, remembering

JUMP_S = 700
"""Longer than a listing lags and a machine has to join; after it a hand neither evicts nor admits."""


NEVER_NOTED = (Admit, CordonNode, DeleteNode, ForgetNotices)


@dataclass(frozen=True, slots=True)
class Around:
    """The world, what may still befall it, and what an old listing shows."""

    world: World
    old: tuple[Machine, ...]
    begun: int = 0
    refusals: int = 0
    """Launches that may still be refused for want of capacity, and so on."""
    reclaims: int = 0
    jumps: int = 0
    blocks: int = 0
    loads: tuple[int, ...] = ()
    """What the load will want, one after the other."""
    coming: tuple[tuple[str, NoticeKind], ...] = ()
    """Notices that may arrive, each once and in any order."""

    @property
    def counts(self) -> tuple[object, ...]:
        return (
            self.begun,
            self.refusals,
            self.reclaims,
            self.jumps,
            self.blocks,
            self.loads,
            self.coming,
        )


Here = Table[Cluster, Around]


def start(world: World, *, hands: int, cluster: Cluster | None = None, **around: object) -> Here:
    make = Around(world, world.machines, **around)  # type: ignore[arg-type]
    return Table(cluster or Cluster(), make, (IDLE,) * hands)


def search(
    whole: Whole,
    first: Here,
    settings: Settings,
    *,
    overtaken_once: bool = True,
    limit: int = 2_000_000,
    allowed: Lawful | None = None,
) -> Explored:
    """Visit everything; every record and world must also end well once nothing fails any more."""
    numbers, whole, saw = Numbers(), told_apart(whole), dict[int, Snapshot]()
    snapshots, judge = Snapshots(numbers), allowed or lawful(settings, numbers)
    quiet = Quiet(whole, settings, judge)
    checked: set[tuple[int, int]] = set()

    def broken_by(table: Here, write: Write[Cluster]) -> str:
        world = table.world.world
        seen = _seen_alive(write, saw)
        broken = rules.commit_breaks(table.record, write.value, world, settings, seen)
        return broken or judge(table.record, write, float(world.now))

    way: Rules[Cluster, Around] = Rules(
        remembering(whole, numbers, saw),
        lambda table, n: _looks(table, snapshots),
        _does,
        lambda before, after: _judge(before, after, settings),
        _committed,  # type: ignore[arg-type]
        lambda around: float(around.world.now),
        overtaken_once,
        broken_by,
    )

    def broken(table: Here) -> str:
        pair = (numbers(table.record), numbers(table.world.world))
        if table.broken or pair in checked:
            return table.broken
        checked.add(pair)
        problem = quiet(table.record, table.world.world)
        return f"never settles: {problem}" if problem else ""

    return explore(
        first,
        lambda table: _moves(table, way),
        broken=broken,
        settled=lambda table: True,
        canonical=_without_idle_news,
        key=lambda table: _key(table, numbers, saw),
        limit=limit,
    )


def _without_idle_news(table: Here) -> Here:
    """News that are never noted make no difference: a hand that has no other is free to look again."""
    if not any(isinstance(effect, NEVER_NOTED) for hand in table.hands for effect, _ in hand.news):
        return table
    return replace(table, hands=tuple(_to_be_noted(hand) for hand in table.hands))


def _to_be_noted(hand: Hand) -> Hand:
    return replace(hand, news=tuple(pair for pair in hand.news if not isinstance(pair[0], NEVER_NOTED)))


def _seen_alive(write: Write[Cluster], saw: dict[int, Snapshot]) -> frozenset[str]:
    """The machines that the look behind a condemnation listed as alive: it could not know more."""
    if all(event.kind != "terminating" for event in write.events):
        return frozenset()
    return frozenset(worker.instance_id for worker in saw[id(write)].workers if worker.alive)


def _key(table: Here, numbers: Numbers, saw: dict[int, Snapshot]) -> Hashable:
    """Hands are alike: only which states they are in matters, not which hand is in which."""
    around = table.world
    return (
        numbers(table.record),
        numbers(around.world),
        numbers(around.old),
        around.counts,
        tuple(sorted(_key_of(hand, numbers, saw) for hand in table.hands)),
        table.broken,
    )


def _key_of(hand: Hand, numbers: Numbers, saw: dict[int, Snapshot]) -> tuple[int, ...]:
    """A hand that condemns makes a difference by what it saw."""
    if isinstance(hand.ahead, Write):
        writes = [step for step in (hand.ahead, *hand.then) if isinstance(step, Write)]
        seen = (numbers(_seen_alive(write, saw)) for write in writes)
        return (numbers(hand.found), numbers(hand.ahead), *map(numbers, hand.then), *seen)
    news = (one for pair in hand.news for one in pair)
    return (numbers(hand.found), numbers(hand.ahead), *(numbers(one) for one in news))


def _looks(table: Here, snapshots: Snapshots) -> Iterator[Seeing]:
    around = table.world
    owner = f"t{around.begun}"
    yield "looks", snapshots(around.world, around.world.machines, owner), True
    if around.old != around.world.machines:
        yield "looks at an old listing", snapshots(around.world, around.old, owner), False


def _does(table: Here, effect: Effect) -> Iterator[Doing[Around]]:
    around = table.world
    if isinstance(effect, LaunchInstances) and around.refusals:
        token = effect.launch.token(effect.action_id)
        if all(m.token != token for m in around.world.machines):
            left = replace(around, refusals=around.refusals - 1)
            yield ", refused", left, Happened(Refused(Refusal.CAPACITY, "none")), False
    if isinstance(effect, Drain) and around.blocks and not effect.deadline_s:
        left = replace(around, blocks=around.blocks - 1)
        yield ", blocked", left, Happened(Drained("a pod that must stay")), False
    world, answer = perform(around.world, effect)
    yield "", replace(around, world=world), Happened(answer), True


def _judge(before: Here, after: Here, settings: Settings) -> str:
    world = after.world.world
    if before.record is not after.record:
        return rules.too_many(after.record, world, settings)
    effect = _just_done(before, after)
    broken = rules.effect_breaks(before.record, before.world.world, effect) if effect else ""
    return broken or rules.world_breaks(world)


def _just_done(before: Here, after: Here) -> Effect | None:
    """The effect that a hand has carried out between these two."""
    for was, now in zip(before.hands, after.hands, strict=True):
        if isinstance(was.ahead, Do) and was.ahead is not now.ahead:
            effect: Effect = was.ahead.effects[0]
            return effect
    return None


def _committed(table: Here, kinds: list[str]) -> Around:
    around, world = table.world, table.world.world
    if world.brisk and {"interrupted", "lost"} & set(kinds) and world.inbox:
        around = replace(around, world=replace(world, inbox=frozenset()))  # all are folded in at once
    begun = kinds.count("beginScaleUp") + kinds.count("beginScaleDown")
    return replace(around, begun=around.begun + begun) if begun else around


def _moves(table: Here, way: Rules[Cluster, Around]) -> Iterator[Move[Here]]:
    yield from hand_moves(table, way)
    around, world = table.world, table.world.world
    for m in world.machines:
        if m.state is State.PENDING:
            yield _befalls(table, f"{m.instance_id} boots", replace(around, world=booted(world)))
            break
    for m in world.alive:
        if around.reclaims or m.dies_s:
            left = around.reclaims - (0 if m.dies_s else 1)
            gone = replace(around, world=taken_back(world, m.instance_id), reclaims=left)
            yield _befalls(table, f"the cloud takes {m.instance_id}", gone)
    for n, (instance_id, kind) in enumerate(around.coming):
        rest = (*around.coming[:n], *around.coming[n + 1 :])
        deadline_s = world.now + 120 if kind is NoticeKind.INTERRUPTION else 0
        told = noticed(world, Notice(instance_id, kind, world.now, deadline_s))
        yield _befalls(table, f"{kind} of {instance_id}", replace(around, world=told, coming=rest))
    for wanted in around.loads[:1]:
        turned = replace(around, world=replace(world, wanted=wanted), loads=around.loads[1:])
        yield _befalls(table, f"the load wants {wanted}", turned)
    if around.jumps:
        yield _sleep(table)


def _befalls(table: Here, label: str, around: Around) -> Move[Here]:
    return Move(label, replace(table, world=around), healthy=False)


def _sleep(table: Here) -> Move[Here]:
    around = table.world
    world = later(around.world, JUMP_S)
    then = replace(around, world=world, old=world.machines, jumps=around.jumps - 1)
    hands = tuple(_overslept(hand) for hand in table.hands)
    return Move("a long time passes", replace(table, world=then, hands=hands), healthy=False)


def _overslept(hand: Hand) -> Hand:
    """Evictions and admissions fence themselves by time; a cordon does not.  An old look is not reused."""
    if not isinstance(hand.ahead, Do):
        return replace(hand, then=()) if hand.then else hand
    left: list[Effect] = []
    for effect in hand.ahead.effects:
        if isinstance(effect, Drain):
            left.append(CordonNode(effect.instance_id, effect.action_id))
        elif not isinstance(effect, Admit):
            left.append(effect)
    return replace(hand, ahead=Do(tuple(left)) if left else None)
