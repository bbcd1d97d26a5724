"""What an operator does in the simulated world: switches, pauses, and the ways out of a degraded group."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from holdfast.failover.asks import Promote, SwitchTo, pause, promote, recover, resume, revive, switch
from holdfast.failover.group import Group
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Situation
from holdfast.sim.failover.host import Host
from holdfast.sim.failover.scale import LEASE_S, PATIENCE_S, POLICY
from holdfast.sim.failover.server import SUBJECT
from holdfast.sim.world import Process

if TYPE_CHECKING:
    from holdfast.sim.scenarios.taking_over import TakingOver


class Operators:
    def __init__(self, scenario: "TakingOver") -> None:
        self.scenario = scenario

    def ask_switch(self, host: Host) -> None:
        wanted = "" if host.serves else host.instance_id
        self._ask("switch", lambda s: switch(s, SwitchTo(wanted=wanted, by="ada")))

    def ask_pause(self, host: Host) -> None:
        until_s = 4 * LEASE_S
        self._ask("pause", lambda s: pause(s.group, s.now_s + until_s, "ada", s.now_s))
        self.scenario.world.after(2 * LEASE_S, self._ask, "resume", lambda s: resume(s.group, "ada", s.now_s))

    def operate(self) -> None:
        """What an operator does about a group that has been degraded for hours."""
        group = self.scenario.groups.read(SUBJECT).value
        now_s = self.scenario.world.now + self.scenario.weather.step_s
        if group.degraded is None or now_s - group.degraded.since_s < PATIENCE_S or group.primary:
            return
        if group.recovering is not None:
            best = max(
                (m for m in group.having(Status.REPLICA, Status.DEMOTING)),
                key=lambda m: self._served_epoch(m.instance_id), default=None,
            )  # fmt: skip
            if best is not None:
                self._ask("recover", lambda s: recover(s, best.instance_id, "ada"))
            return
        for member in group.having(Status.ZOMBIE):
            host = self.scenario.hosts.get(member.instance_id)
            if host is not None and host.alive:
                self._ask("revive", partial(_revived, member.instance_id))
                return
        for member in group.having(Status.REPLICA):
            host = self.scenario.hosts.get(member.instance_id)
            if host is not None and host.alive:
                ask = Promote(instance_id=member.instance_id, by="ada", emergency=True, accept_data_loss=True)
                self._ask("promote", partial(_promoted, ask))
                return

    def _served_epoch(self, instance_id: str) -> int:
        host = self.scenario.hosts.get(instance_id)
        return host.disk[1] if host and host.alive else -1

    def _ask(self, name: str, asked: Callable[[Situation], object]) -> None:
        server = self.scenario.world.random.choice(self.scenario.servers)

        def work(process: Process) -> None:
            store = self.scenario.open_store(process)

            def situated(group: Group) -> object:
                seen = server.time.seen(store, group)
                return asked(Situation(group, seen, server.time.now_s(), POLICY))

            server.ask(store, situated)  # type: ignore[arg-type]

        self.scenario.world.spawn(f"operator-{name}", work, phase=self.scenario.phase)


def _revived(instance_id: str, situation: Situation) -> object:
    return revive(situation.group, instance_id, "ada", situation.now_s)


def _promoted(ask: Promote, situation: Situation) -> object:
    return promote(situation, ask)
