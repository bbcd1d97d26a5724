"""Nodes come and go with the load; a tick every four minutes removes the surplus."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from holdfast.autoscaler import shrink
from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.place import Node
from holdfast.autoscaler.ports import ClusterStore, Drain, Effect, Seen
from holdfast.autoscaler.record import Cluster, Status
from holdfast.kernel import (
    Busy,
    Conflict,
    Done,
    Hands,
    Logged,
    Versioned,
    Wait,
    Workflow,
    Write,
    advance,
    thrifty,
)
from holdfast.sim.fleet import SimFleet
from holdfast.sim.gate import Gated, Kind
from holdfast.sim.limits import RUN_INSTANCES_PER_S, Bucket
from holdfast.sim.scenarios.scenario import Watched, describe, named
from holdfast.sim.world import Process, World

ZONES = ("a", "b", "c")
LAG_MAX_S = 300.0
"""How far a listing may lag behind; removed nodes are remembered for longer."""
POLICY = shrink.Policy(min_workers=3, max_batch_down=2, cooldown_down_s=300)


class Removing:
    name = "removing nodes"

    def __init__(
        self, world: World, store: ClusterStore, workflow: Workflow[Cluster, Seen, Effect] | None = None
    ) -> None:
        self.world = world
        self.store = Watched(store, self._judge)
        self.workflow = workflow or shrink.workflow(POLICY)
        self.accidents: list[str] = []
        self.actions = 0
        self.fleet = SimFleet({}, wanted=5, record=lambda: self.store.read(SUBJECT).value)
        self.fleet.accidents = self.accidents
        self.past: list[tuple[float, tuple[Node, ...]]] = []
        self.reclaimed: dict[str, float] = {}
        self._launched = self._ticks = 0
        self._calm = False
        self._launches = Bucket(RUN_INSTANCES_PER_S, 5, world.now_s)

    def begin(self) -> None:
        for _ in range(6):
            self._boot()
        self.world.every(240, self._tick)
        self.world.every(150, self._grow)
        self.world.every(600, self._change_load)
        self.world.every(2_400, self._reclaim)
        self.world.every(3_000, self._operator)
        self.world.every(1_800, self._block)

    def calm(self) -> None:
        self._calm = True
        self.fleet.blocked.clear()

    def phase(self) -> str:
        down = self.store.read(SUBJECT).value.scale_down
        if down is None:
            return "removing: idle"
        for status in (Status.CONDEMNED, Status.DRAINED, Status.PLANNED):
            if down.having(status):
                return f"removing: {status.value}"
        return "removing: ending"

    def events(self, after: int) -> Sequence[Logged]:
        return self.store.events(SUBJECT, after)

    def next_step(self) -> str:
        return describe(
            self.workflow.step(self.store.read(SUBJECT).value, self.fleet.look("you"), self.world.now)
        )

    def unhealed(self) -> Sequence[str]:
        cluster = self.store.read(SUBJECT).value
        need = max(self.fleet.wanted, POLICY.min_workers)
        problems = []
        if cluster.scale_down:
            problems.append(f"L-A1: {cluster.scale_down} is still open")
        if self.fleet.cordons or cluster.strays:
            problems.append(f"L-A2: cordons are left: {self.fleet.cordons or cluster.strays}")
        if len(self.fleet.nodes) != need:
            problems.append(f"L-A3: {len(self.fleet.nodes)} nodes for {need} wanted")
        return problems

    def _tick(self) -> None:
        self._ticks += 1
        name = f"tick-{self._ticks}"
        self.world.spawn(name, partial(self._work, name), phase=self.phase)

    def _work(self, name: str, process: Process) -> None:
        """One invocation: steps until there is nothing to do, or somebody else is at it."""
        hands: Hands[Cluster, Seen, Effect] = Hands.on(
            Gated(self.store, process),
            SUBJECT,
            look=lambda: process.call(
                "look", Kind.LOOK, partial(self._look, name, 0.0), partial(self._look, name, LAG_MAX_S)
            ),
            perform=partial(self._carry_out, process),
            clock=process,
            new_id=self.world.new_id,
            dice=self.world.random.random,
        )
        locked = Workflow(thrifty(self.workflow.step, owner=name, ttl_s=300), self.workflow.settle)
        while True:
            try:
                ahead = advance(hands, locked)
            except Conflict:
                continue
            if isinstance(ahead, Wait | Done):
                return

    def _look(self, me: str, lag_s: float) -> Seen:
        seen = self.fleet.look(me)
        if not lag_s:
            return seen
        then_s = self.world.now - self.world.random.uniform(0, lag_s)
        old = next((nodes for at_s, nodes in reversed(self.past) if at_s <= then_s), self.past[0][1])
        return Seen(me=me, wanted=seen.wanted, nodes=old, cordons=seen.cordons)

    def _carry_out(self, process: Process, effect: Effect) -> object:
        if isinstance(effect, Drain):
            process.sleep(self.world.random.uniform(10, 90))  # pods take their time to leave
        return process.call(named(effect), Kind.CHANGE, lambda: self._perform(effect))

    def _perform(self, effect: Effect) -> object:
        answer = self.fleet.perform(effect)
        self._remember()
        return answer

    def _judge(self, before: Versioned[Cluster], after: Versioned[Cluster], write: Write[Cluster]) -> None:
        was, now = before.value.scale_down, after.value.scale_down
        if was and now and was.action_id != now.action_id:
            self.accidents.append(f"S-A1: {was.action_id} was replaced by {now.action_id}")
        if was and not now and was.having(Status.CONDEMNED):
            self.accidents.append(f"S-A4: {was.action_id} forgot what it had condemned")
        if after.version != before.version + 1:
            self.accidents.append(f"S-A7: version {after.version} after {before.version}")
        kinds = {event.kind for event in write.events}
        self.actions += bool(kinds & {"completeScaleDown", "failScaleDown"})
        if now and "condemned" in kinds:
            going = set(now.having(Status.CONDEMNED, Status.GONE))
            # A listing cannot know better than LAG_MAX_S ago what the cloud has taken back.
            recent = {i for i, at_s in self.reclaimed.items() if self.world.now - at_s <= LAG_MAX_S}
            left = (set(self.fleet.nodes) | recent) - going
            if len(left) < POLICY.min_workers:
                self.accidents.append(f"S-A5: {now.action_id} leaves {len(left)} of {POLICY.min_workers}")

    def _boot(self) -> None:
        self._launched += 1
        counts = {zone: sum(node.zone == zone for node in self.fleet.nodes.values()) for zone in ZONES}
        zone = min(ZONES, key=lambda zone: (counts[zone], zone))
        node = Node(f"i-{self._launched:04d}", zone, int(self.world.now))
        self.fleet.nodes[node.instance_id] = node
        self._remember()

    def _grow(self) -> None:
        """Stands in for growing: launches what is missing, at the rate that the cloud allows."""
        missing = max(self.fleet.wanted, POLICY.min_workers) - len(self.fleet.nodes)
        with suppress(Busy):
            for _ in range(missing):
                self._launches.take(1, "RunInstances")
                self._boot()

    def _change_load(self) -> None:
        if not self._calm:
            self.fleet.wanted = self.world.random.randint(2, 9)

    def _reclaim(self) -> None:
        if self.fleet.nodes and not self._calm:
            victim = self.world.random.choice(sorted(self.fleet.nodes))
            del self.fleet.nodes[victim]
            self.fleet.cordons = {c for c in self.fleet.cordons if c.instance_id != victim}
            self.reclaimed[victim] = self.world.now
            self._remember()

    def _block(self) -> None:
        """A pod that must stay turns up on some node, for a while."""
        self.fleet.blocked.clear()
        if self.fleet.nodes and not self._calm:
            self.fleet.blocked[self.world.random.choice(sorted(self.fleet.nodes))] = "a pod without an owner"

    def _operator(self) -> None:
        """Somebody loses patience with the open action."""

        def give_up(process: Process) -> None:
            store = Gated(self.store, process)
            found = store.read(SUBJECT)
            write = shrink.give_up(found.value, "an operator", process.now_s(), POLICY)
            if write is not None:
                store.commit(SUBJECT, found, write, self.world.new_id())

        if not self._calm:
            self.world.spawn("operator", give_up, phase=self.phase)

    def _remember(self) -> None:
        self.past.append((self.world.now, tuple(self.fleet.nodes.values())))
        while len(self.past) > 2 and self.past[1][0] < self.world.now - LAG_MAX_S:
            self.past.pop(0)
