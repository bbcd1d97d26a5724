"""One primary, two standbys, two servers: notices, deaths, pauses, lost heartbeats."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from holdfast.failover import takeover
from holdfast.failover.events import FailoverEvent
from holdfast.failover.group import Group, Member
from holdfast.failover.ports import Effect, Grant, GroupStore, Seen, Term
from holdfast.failover.roles import Move, Role
from holdfast.kernel import (
    Conflict,
    Done,
    DriverPorts,
    Event,
    Logged,
    Versioned,
    Wait,
    Workflow,
    Write,
    advance,
)
from holdfast.sim.agents import SimAgent, SimGroup
from holdfast.sim.gate import Gated, Kind
from holdfast.sim.scenarios.scenario import Watched, describe, named
from holdfast.sim.world import Process, World

AGENT = "agent-1"
LEASE_S, HEARTBEAT_S, BATCH_S, TICK_S = 900.0, 300.0, 30.0, 300.0
SERVERS = 2
TERM = Term(LEASE_S)
POLICY = takeover.Policy(grace_s=1_200, look_again_s=60)


class TakingOver:
    name = "taking over"

    def __init__(
        self, world: World, store: GroupStore, workflow: Workflow[Group, Seen, Effect] | None = None
    ) -> None:
        self.world, self.groups = world, store
        self.store = Watched(store, self._judge)
        self.workflow = workflow or takeover.workflow(POLICY)
        self.actions = 0
        self.group = SimGroup({})
        self.accidents = self.group.accidents
        self.interrupted: set[str] = set()
        self.paused_until_s: dict[str, float] = {}
        self._inboxes: list[list[tuple[SimAgent, float]]] = [[] for _ in range(SERVERS)]
        self._launched = 0
        self._calm = False

    def begin(self) -> None:
        first = Write(Group(agent_id=AGENT), (Event(FailoverEvent.REGISTERED, self.world.now),))
        self.store.commit(AGENT, self.store.read(AGENT), first, self.world.new_id())
        for server in range(SERVERS):
            self.world.every(TICK_S, partial(self._tick, server))
        self.world.every(600, self._staff)
        self.world.every(3_000, self._strike)

    def calm(self) -> None:
        self._calm = True

    def phase(self) -> str:
        group = self.store.read(AGENT).value
        if group.takeover is None:
            return "taking over: serving" if group.primary else "taking over: vacant"
        fenced, asked = group.takeover.fenced, group.takeover.asked
        return f"taking over: {'fenced' if fenced else 'asked' if asked else 'revoked'}"

    def events(self, after: int) -> Sequence[Logged]:
        return self.store.events(AGENT, after)

    def next_step(self) -> str:
        return describe(self.workflow.step(self.store.read(AGENT).value, self._look(), self.world.now))

    def unhealed(self) -> Sequence[str]:
        group = self.store.read(AGENT).value
        agent = self.group.agents.get(group.primary or "")
        if agent is None or not agent.serving:
            return [f"L-F1: no agent serves: {group}"]
        return []

    def _tick(self, server: int) -> None:
        self.world.spawn(f"server-{server}", self._work, phase=self.phase)

    def _work(self, process: Process) -> None:
        ports: DriverPorts[Group, Seen, Effect] = DriverPorts.on(
            Gated(self.store, process),
            AGENT,
            look=lambda: process.call("look", Kind.LOOK, self._look),
            perform=lambda effect: process.call(
                named(effect), Kind.CHANGE, lambda: self.group.perform(effect)
            ),
            clock=process,
            new_id=self.world.new_id,
            random=self.world.random.random,
        )
        while True:
            try:
                ahead = advance(ports, self.workflow)
            except Conflict:
                continue
            if isinstance(ahead, Done):
                return
            if isinstance(ahead, Wait):
                process.sleep(max(1.0, ahead.until_s - process.now_s()))

    def _look(self) -> Seen:
        dead = {i for i, agent in self.group.agents.items() if not agent.alive}
        return Seen(
            leases_left_s=self.groups.leases_left_s(AGENT), interrupted=frozenset(self.interrupted | dead)
        )

    def _beat(self, instance_id: str) -> None:
        """Send a heartbeat to some server, which stores many at a time."""
        agent = self.group.agents.get(instance_id)
        if agent is None or not agent.alive:
            return
        self.world.after(HEARTBEAT_S, self._beat, instance_id)
        if self.paused_until_s.get(instance_id, 0) > self.world.now:
            return
        inbox = self.world.random.choice(self._inboxes)
        inbox.append((agent, agent.now_s()))
        if len(inbox) == 1:
            self.world.after(BATCH_S, self._flush, inbox)

    def _flush(self, inbox: list[tuple[SimAgent, float]]) -> None:
        self.world.spawn("batch", partial(self._store_batch, inbox), phase=self.phase)

    def _store_batch(self, inbox: list[tuple[SimAgent, float]], process: Process) -> None:
        batch, inbox[:] = list(inbox), []
        beats = [agent.heartbeat() for agent, _ in batch]
        grants = process.call("renew", Kind.CHANGE, lambda: self.groups.renew(beats, TERM))
        for (agent, sent_s), grant in zip(batch, grants, strict=True):
            late_s = self.world.random.choice((0.1, 0.5, 5.0, 60.0))
            self.world.after(late_s, self._hear, agent, grant, sent_s)

    def _hear(self, agent: SimAgent, grant: Grant, sent_s: float) -> None:
        agent.hear(grant, sent_s)
        self.group.judge()

    def _judge(self, before: Versioned[Group], after: Versioned[Group], write: Write[Group]) -> None:
        if after.value.epoch < before.value.epoch or after.version != before.version + 1:
            self.accidents.append(f"S-A7: {after.version} after {before.version}")
        self.actions += any(event.kind == "promoted" for event in write.events)

    def _staff(self) -> None:
        """Stands in for launching: buries the dead and brings the standbys back to two."""

        def work(process: Process) -> None:
            store = Gated(self.store, process)
            found = store.read(AGENT)
            group = found.value
            gone = [m for m in group.members if m.role is not Role.PRIMARY and self._is_gone(m, group)]
            standbys = [m for m in group.members if m.role is Role.REPLICA and m not in gone]
            if not gone and len(standbys) >= 2:
                return
            events = [
                Event(FailoverEvent.CONFIRMED_GONE, process.now_s(), about=member.instance_id)
                for member in gone
            ]
            for member in gone:
                group = group.move(member.instance_id, Move.CONFIRMED_GONE)
                self.group.agents.pop(member.instance_id, None)
            members = [m for m in group.members if m.role is not Role.TERMINATED]
            for _ in range(2 - len(standbys)):
                members.append(Member(self._launch(), Role.REPLICA, ready=True))
                events.append(
                    Event(FailoverEvent.STANDBY_READY, process.now_s(), about=members[-1].instance_id)
                )
            store.commit(
                AGENT,
                found,
                Write(replace(group, members=tuple(members)), tuple(events)),
                self.world.new_id(),
            )

        self.world.spawn("staff", work, phase=self.phase)

    def _is_gone(self, member: Member, group: Group) -> bool:
        """Dead, or a zombie that has been terminated once its lease is over."""
        agent = self.group.agents.get(member.instance_id)
        if agent is None or not agent.alive:
            return True
        if member.role is Role.ZOMBIE and not group.takeover and not agent.serving:
            agent.alive = False
        return not agent.alive

    def _launch(self) -> str:
        self._launched += 1
        instance_id = f"p-{self._launched:04d}"
        rate = 1 + self.world.random.uniform(-0.009, 0.009)
        started_s = self.world.now
        clock = lambda: started_s + (self.world.now - started_s) * rate  # noqa: E731
        self.group.agents[instance_id] = SimAgent(AGENT, instance_id, clock)
        self.world.after(1.0, self._beat, instance_id)
        return instance_id

    def _strike(self) -> None:
        """The primary gets a notice, dies, or falls asleep for longer than its lease."""
        primary = self.store.read(AGENT).value.primary
        if primary is None or self._calm:
            return
        match self.world.random.randrange(3):
            case 0:
                self.interrupted.add(primary)
            case 1:
                self.group.agents[primary].alive = False
            case _:
                self.paused_until_s[primary] = self.world.now + self.world.random.uniform(60, 3_000)
