"""One group, two servers, machines that come and go: notices, deaths, pauses, partitions, restores.

What befalls it is in `sim.failover.strikes`, what operators do in `sim.failover.operators`.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from holdfast.cloud.machines import ALIVE, Instance
from holdfast.failover.agent.goals import Hook
from holdfast.failover.events import FailoverEvent
from holdfast.failover.group import Degraded, Group
from holdfast.failover.ports import Effect, GroupStore, Seen
from holdfast.failover.roles import Status
from holdfast.failover.workflow import workflow as shipped
from holdfast.kernel import Event, Logged, Versioned, Workflow, Write
from holdfast.sim.failover.gated_machines import GatedMachines
from holdfast.sim.failover.host import Hooks, Host
from holdfast.sim.failover.judge import Judge
from holdfast.sim.failover.machines import SimMachines
from holdfast.sim.failover.operators import Operators
from holdfast.sim.failover.scale import HOOKS_FAIL, POLICY, POOLS, SERVERS, SETTINGS, SPARE_S, TICK_S, TIMING
from holdfast.sim.failover.server import AGENT, CLIENT, SUBJECT, Server
from holdfast.sim.failover.store import MemoryGroups
from holdfast.sim.failover.strikes import Strikes
from holdfast.sim.failover.wire import GatedGroups, SimWire, Weather
from holdfast.sim.scenarios.scenario import describe
from holdfast.sim.world import Process, World


class TakingOver:
    name = "taking over"

    def __init__(
        self,
        world: World,
        store: GroupStore,
        workflow: Workflow[Group, Seen, Effect] | None = None,
        weather: Weather | None = None,
    ) -> None:
        self.world, self.groups = world, store
        self.weather = weather or Weather()
        self.actions = 0
        self.judge = Judge(world.now_s, POLICY, SPARE_S)
        self.accidents = self.judge.accidents
        self.hosts: dict[str, Host] = {}
        flow = workflow or shipped(POLICY)
        self.servers = [
            Server(world, f"server-{n}", POLICY, flow, rate=1 + world.random.uniform(-0.001, 0.001))
            for n in range(SERVERS)
        ]
        self.wire = SimWire(
            world, self.servers, self.weather, self.open_store, self._is_terminated, phase=self.phase
        )
        self.machines = SimMachines(world, self._booting, self._ended)
        self.is_calm, self.failing, self.ill = False, 0, ""
        """How many promotions are to fail; whose health is bad."""
        self.operators = Operators(self)
        self.strikes = Strikes(self, self.operators)

    def begin(self) -> None:
        now_s = self.world.now
        first = Group(
            client_id=CLIENT, agent_id=AGENT, settings=SETTINGS, created_s=now_s,
            degraded=Degraded(now_s, "NEW_GROUP", "no primary yet"),
        )  # fmt: skip
        told = Event(FailoverEvent.CREATED, now_s, SUBJECT, numbers={"rule": 101})
        self.groups.commit(SUBJECT, self.groups.read(SUBJECT), Write(first, (told,)), self.world.new_id())
        self._host("p-0001", POOLS[0])
        self.machines.adopt("p-0001", POOLS[0])
        for server in self.servers:
            self.world.every(TICK_S, partial(self._sweep, server))
        self.world.every(3_600, self.operators.operate)
        self.world.every(3_000, self.strikes.strike)

    def calm(self) -> None:
        self.is_calm, self.failing, self.ill = True, 0, ""
        self.weather.cut_off.clear()
        self.weather.away_until_s = 0.0
        self.machines.full.clear()
        for host in self.hosts.values():
            if host.asleep or not host.agent_runs:
                host.wake()

    def phase(self) -> str:
        group = self.groups.read(SUBJECT).value
        if group.recovering:
            return "taking over: recovering"
        if group.takeover is None:
            return "taking over: serving" if group.primary else "taking over: vacant"
        fenced = "fenced" if group.takeover.fenced else "revoked"
        return f"taking over: {'promoting' if group.takeover.candidate else fenced}"

    def events(self, after: int) -> Sequence[Logged]:
        return self.groups.events(SUBJECT, after)

    def next_step(self) -> str:
        server = self.servers[0]
        group = self.groups.read(SUBJECT).value
        seen = replace(server.time.seen(self.groups, group), cloud=tuple(self.machines.all.values()))
        return describe(server.flow.step(group, seen, server.time.now_s()))

    def unhealed(self) -> Sequence[str]:
        group = self.groups.read(SUBJECT).value
        host = self.hosts.get(group.primary or "")
        wrong = []
        if host is None or not host.serves:
            wrong.append(f"L-F1: no primary serves: {group.degraded}, {group.takeover}, {group.recovering}")
        limit_s = SETTINGS.zombie_retention_s + 2 * 3_600
        now_s = self.world.now + self.weather.step_s
        runs = {one.instance_id for one in self.machines.all.values() if one.state in ALIVE}
        zombies = [m for m in group.having(Status.ZOMBIE) if m.instance_id in runs]
        old = [m.instance_id for m in zombies if now_s - m.demoted_at_s > limit_s]
        if old and not wrong:
            wrong.append(f"L-F2: zombies are kept for too long: {old}")
        condemned = [m for m in group.having(Status.TERMINATING) if m.instance_id in runs]
        late = [m for m in condemned if now_s - m.terminate_at_s > 5 * 3_600]
        if late and not wrong:
            wrong.append(f"L-F2: condemned machines run on: {[m.instance_id for m in late]}")
        return wrong

    def open_store(self, process: Process) -> GatedGroups:
        return GatedGroups(self.groups, process, self.weather, self._judged)

    def _judged(self, before: Versioned[Group], after: Versioned[Group], write: Write[Group]) -> None:
        self.judge.commit(before, after, write)
        self.actions += any(event.kind == FailoverEvent.PROMOTED for event in write.events)

    def _is_terminated(self, instance_id: str) -> bool:
        stored = self.groups.groups.get(SUBJECT) if isinstance(self.groups, MemoryGroups) else None
        return stored is not None and instance_id in stored.terminated

    def _sweep(self, server: Server) -> None:
        def work(process: Process) -> None:
            done = False
            try:
                server.drive(self.open_store(process), GatedMachines(self, process), process.sleep)
                done = True
            finally:
                if not done:
                    server.restart()  # its process died

        self.world.spawn(server.name, work, phase=self.phase)

    # Machines.

    def _host(self, instance_id: str, pool: str, token: str = "") -> None:
        random = self.world.random

        def takes_s(hook: Hook) -> float:
            return (
                random.uniform(5, 60) if hook in (Hook.HEALTH, Hook.SYNC_STATUS) else random.uniform(10, 300)
            )

        def fails(hook: Hook) -> bool:
            if hook is Hook.HEALTH:
                return instance_id == self.ill
            if hook is Hook.ON_PROMOTE and self.failing > 0:
                self.failing -= 1
                return True
            return hook in (Hook.ON_DEMOTE, Hook.ON_FOLLOW) and random.random() < HOOKS_FAIL

        self.hosts[instance_id] = Host(
            self.world, instance_id, pool, self.wire, TIMING, rate=1 + random.uniform(-0.009, 0.009),
            hooks=Hooks(takes_s, fails), token=token, changed=lambda host: self._serving(),
            lag_s=lambda host: random.choice((0.0, 10.0, 100.0, 2_000.0)),
        )  # fmt: skip

    def _serving(self) -> None:
        self.judge.serving(self.hosts.values())

    def _booting(self, one: Instance) -> None:
        def boot() -> None:
            if one.instance_id in self.machines.all and one.instance_id not in self.hosts:
                self._host(one.instance_id, f"{one.instance_type}.{one.zone}", one.token)

        self.world.after(self.world.random.uniform(300, 3_000), boot)

    def _ended(self, instance_id: str) -> None:
        host = self.hosts.get(instance_id)
        if host is not None:
            host.die()
