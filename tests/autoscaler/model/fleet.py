"""Machines, their nodes, an inbox and a clock, as one value; and what each effect does to it.

Crash schedules, interleavings and lives in virtual time all play in here.  The world is as bad as the
real one: an open node has pods at once, a dead machine's node stays and looks ready, a token fences
repeats of a success and nothing else, and a machine once launched boots whether a record knows of it or not.
"""

from collections.abc import Callable, Iterable
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
    Load,
    PrepareTemplate,
    Terminate,
    Uncordon,
)
from holdfast.autoscaler.snapshot import Ghost, Need, Place, Snapshot, Worker
from holdfast.cloud import ALIVE, Instance, Market, Notice, State
from holdfast.cloud.launches import Launched, Refusal, Refused, Template, launch_token

START_S = 100_000
BOOT_S = 60
POOL = "default"
TEMPLATE = "lt-1:1"
"""What the pool launches from now."""
BY_HAND = "a person"
"""The owner of a cordon that is no action of ours: no effect may lift it."""


@dataclass(frozen=True, slots=True)
class Machine:
    instance_id: str
    zone: str = "a"
    state: State = State.RUNNING
    market: Market = Market.SPOT
    action_id: str = "0-before"
    token: str = ""
    request: str = ""
    """The request that it came of, whatever its token says."""
    launched_s: int = 0
    dies_s: int = 0
    """When the cloud takes it back; 0: it does not."""
    node: bool = True
    joining: bool = False
    cordons: frozenset[str] = frozenset()
    pods: bool = True
    template: str = TEMPLATE

    @property
    def alive(self) -> bool:
        return self.state in ALIVE

    @property
    def open(self) -> bool:
        """Whether a scheduler would place pods there."""
        return self.node and not self.joining and not self.cordons

    @property
    def serves(self) -> bool:
        return self.alive and self.open


@dataclass(frozen=True, slots=True)
class World:
    machines: tuple[Machine, ...]
    wanted: int
    """So many workers does the load fill."""
    now: int = START_S
    inbox: frozenset[Notice] = frozenset()
    full: frozenset[str] = frozenset()
    """Zones without capacity."""
    zones: tuple[str, ...] = ("a",)
    made: int = 0
    blocked: frozenset[str] = frozenset()
    """Nodes that cannot be drained."""
    empty: frozenset[str] = frozenset()
    """Nodes on which nothing runs that a scheduler placed, though they are open."""
    busy: bool = False
    """Whether the workers have much to do, however many there are."""
    brisk: bool = False
    """Whether notices leave the inbox with the commit that folds them in, and no effect removes the nodes
    of dead machines: two effects less to be late with."""

    def machine(self, instance_id: str) -> Machine | None:
        return next((m for m in self.machines if m.instance_id == instance_id), None)

    @property
    def alive(self) -> tuple[Machine, ...]:
        return tuple(m for m in self.machines if m.alive)

    @property
    def serving(self) -> frozenset[str]:
        return frozenset(m.instance_id for m in self.machines if m.serves)


def fleet(*zones: str) -> tuple[Machine, ...]:
    """One machine for each letter, the first the oldest."""
    return tuple(
        Machine(f"i-{n}", zone, launched_s=n, token=launch_token("0-before", n, 1))
        for n, zone in enumerate((z for z in "".join(zones)), 1)
    )


def changed(world: World, instance_id: str, change: Callable[[Machine], Machine]) -> World:
    """The same world with one machine changed; a node that is open now has pods at once."""
    machines = tuple(_settled(change(m)) if m.instance_id == instance_id else m for m in world.machines)
    return replace(world, machines=machines)


def _settled(machine: Machine) -> Machine:
    return replace(machine, pods=True) if machine.serves and not machine.pods else machine


def booted(world: World, *, before_s: float | None = None, duds: frozenset[str] = frozenset()) -> World:
    """Pending machines that were launched long enough ago run, and have joined with the taint."""
    for m in world.machines:
        if m.instance_id in duds or m.state is not State.PENDING:
            continue
        if before_s is None or m.launched_s <= before_s:
            world = changed(
                world, m.instance_id, lambda m: replace(m, state=State.RUNNING, node=True, joining=True)
            )
    return world


def taken_back(world: World, instance_id: str) -> World:
    """The cloud ends it.  Its node stays, and looks ready for a while."""
    return changed(world, instance_id, lambda m: replace(m, state=State.TERMINATED, dies_s=0, pods=False))


def later(world: World, seconds: int, *, duds: frozenset[str] = frozenset()) -> World:
    """Time passes: machines boot, but for the duds, and those that the cloud takes back end."""
    now = world.now + seconds
    world = booted(replace(world, now=now), before_s=now - BOOT_S, duds=duds)
    for m in world.machines:
        if m.alive and m.dies_s and m.dies_s <= now:
            world = taken_back(world, m.instance_id)
    return world


def noticed(world: World, notice: Notice) -> World:
    """A notice arrives; an interruption comes true at its deadline."""
    world = replace(world, inbox=world.inbox | {notice})
    if not notice.deadline_s:
        return world
    return changed(world, notice.instance_id, lambda m: replace(m, dies_s=notice.deadline_s))


def snapshot(world: World, owner: str, *, listed: Iterable[Machine] | None = None) -> Snapshot:
    """What a look sees.  A listing may be old (`listed`); nodes, pods and notices are as they are."""
    listing = tuple(world.machines if listed is None else listed)
    known = {m.instance_id: m for m in listing}
    nodes = {m.instance_id: m for m in world.machines if m.node}
    ghosts = tuple(
        Ghost(i, f"node-{i}", f"uid-{i}", known[i].state if i in known else None)
        for i in nodes
        if not world.brisk and (i not in known or not known[i].alive)
    )
    serving = frozenset(i for i, m in nodes.items() if m.serves)
    pending = max(0, world.wanted - len(serving))

    def needs(on_its_way: int) -> tuple[Need, ...]:
        return (Need(POOL, pending - on_its_way),) if pending > on_its_way else ()

    def fits_without(leaving: frozenset[str], closed: frozenset[str]) -> str:
        if not any(m.pods for m in world.machines if m.instance_id in leaving):
            return ""
        return "" if len(serving - leaving - closed) >= world.wanted else "a pod finds no place"

    return Snapshot(
        owner=owner,
        workers=tuple(_worker(m, nodes.get(m.instance_id)) for m in listing),
        ghosts=ghosts,
        pending=pending,
        needs=needs,
        fits_without=fits_without,
        is_empty=lambda i: i in world.empty,
        load=Load(0.1 if len(serving) > world.wanted and not world.busy else 0.4),
        notices=tuple(sorted(world.inbox)),
        templates={POOL: Template("lt-1", 1, "digest")},
        digests={POOL: "digest"},
        places=tuple(Place(POOL, zone, f"subnet-{zone}") for zone in world.zones),
    )


def _worker(listed: Machine, node: Machine | None) -> Worker:
    instance = Instance(
        listed.instance_id,
        listed.state,
        listed.zone,
        "t3.medium",
        listed.market,
        listed.launched_s,
        POOL,
        listed.action_id,
        listed.token,
        template=listed.template,
    )
    if node is None:
        return Worker(instance=instance)
    return Worker(
        instance=instance,
        node_name=f"node-{node.instance_id}",
        node_uid=f"uid-{node.instance_id}",
        ready=True,
        joining=node.joining,
        cordons=node.cordons - {BY_HAND},
        cordoned=bool(node.cordons),
    )


def perform(world: World, effect: Effect) -> tuple[World, object]:
    """Carry an effect out: the world after it, and the answer."""
    match effect:
        case LaunchInstances():
            return _launch(world, effect)
        case Terminate(instance_id):
            return taken_back(world, instance_id), None
        case Admit(instance_id):
            return changed(world, instance_id, lambda m: replace(m, joining=False)), None
        case Drain(instance_id, action_id, deadline_s):
            return _drain(world, instance_id, action_id, hurried=bool(deadline_s))
        case CordonNode(instance_id, action_id):
            return _cordon(world, instance_id, action_id), None
        case Uncordon(instance_id, action_id):
            return changed(world, instance_id, lambda m: replace(m, cordons=m.cordons - {action_id})), None
        case DeleteNode(instance_id):
            bare = {"node": False, "joining": False, "cordons": frozenset[str](), "pods": False}
            return changed(world, instance_id, lambda m: replace(m, **bare)), None  # type: ignore[arg-type]
        case ForgetNotices(keys):
            return replace(world, inbox=frozenset(n for n in world.inbox if n.key not in keys)), None
        case PrepareTemplate():
            return world, None


def _launch(world: World, effect: LaunchInstances) -> tuple[World, object]:
    row, token = effect.launch, effect.launch.token(effect.action_id)
    before = [m for m in world.machines if m.token == token]
    if any(not m.alive for m in before):
        return world, Refused(Refusal.EXISTED, "it is gone again")
    if before:
        return world, Launched(tuple(m.instance_id for m in before))
    if row.zone in world.full:
        return world, Refused(Refusal.CAPACITY, f"none in {row.zone}")
    new = tuple(
        Machine(
            f"i-new-{world.made + n}",
            row.zone,
            State.PENDING,
            row.market,
            effect.action_id,
            token,
            f"{effect.action_id}/{row.group}/{row.attempt}",
            world.now,
            node=False,
            pods=False,
        )
        for n in range(1, row.count + 1)
    )
    launched = replace(world, machines=(*world.machines, *new), made=world.made + row.count)
    return launched, Launched(tuple(m.instance_id for m in new))


def _drain(world: World, instance_id: str, action_id: str, *, hurried: bool) -> tuple[World, object]:
    if instance_id in world.blocked and not hurried:
        return world, Drained("a pod that must stay")
    machine = world.machine(instance_id)
    if machine is None or not machine.node:
        return world, Drained("its node is not listed")
    cordoned = _cordon(world, instance_id, action_id)
    return changed(cordoned, instance_id, lambda m: replace(m, pods=False)), Drained()


def _cordon(world: World, instance_id: str, action_id: str) -> World:
    machine = world.machine(instance_id)
    if machine is None or not machine.node:
        return world
    return changed(world, instance_id, lambda m: replace(m, cordons=m.cordons | {action_id}))
