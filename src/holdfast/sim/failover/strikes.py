"""What befalls a simulated group: notices, deaths, sleep, partitions, failing hooks, restores."""

from typing import TYPE_CHECKING

from holdfast.failover.agent import words
from holdfast.sim.failover.host import Host
from holdfast.sim.failover.operators import Operators
from holdfast.sim.failover.scale import LEASE_S, POOLS, SCALE
from holdfast.sim.failover.server import SUBJECT
from holdfast.sim.failover.store import MemoryGroups

if TYPE_CHECKING:
    from holdfast.sim.scenarios.taking_over import TakingOver


class Strikes:
    def __init__(self, scenario: "TakingOver", operators: Operators) -> None:
        self.scenario, self.operators = scenario, operators
        self._backup: object = None

    def strike(self) -> None:
        group, random = self.scenario.groups.read(SUBJECT).value, self.scenario.world.random
        living = [host for host in self.scenario.hosts.values() if host.alive]
        if self.scenario.is_calm or not living:
            return
        victim = self.scenario.hosts.get(group.primary or "") or random.choice(living)
        if random.random() < 0.3:
            victim = random.choice(living)
        befalls = random.choice(
            (
                self._notice,
                self._notice,
                self._kill,
                self._stop_agent,
                self._restart_agent,
                self._sleep,
                self._cut_off,
                self._rebalance,
                self._reboot,
                self._break_hooks,
                self._sicken,
                self._outage,
                self._step,
                self.operators.ask_switch,
                self.operators.ask_pause,
                self._fill,
                self._keep_or_restore,
            )
        )
        if victim.alive:
            befalls(victim)

    def _for_a_while_s(self) -> float:
        return self.scenario.world.random.choice((300.0, 1_500.0, 6_000.0))

    def _notice(self, host: Host) -> None:
        host.deadline_s = self.scenario.world.now + 120 * SCALE
        host.hear(
            words.Noticed(
                words.Notice(kind="termination", action="terminate", time=str(self.scenario.world.now))
            )
        )
        self.scenario.world.after(120 * SCALE, self._kill, host)

    def _rebalance(self, host: Host) -> None:
        host.hear(words.Noticed(words.Notice(kind="rebalance", time=str(self.scenario.world.now))))

    def _kill(self, host: Host) -> None:
        host.die()
        self.scenario.machines.gone(host.instance_id)

    def _stop_agent(self, host: Host) -> None:
        host.stop_agent()
        self.scenario.world.after(self._for_a_while_s(), host.wake)

    def _restart_agent(self, host: Host) -> None:
        host.restart_agent()

    def _sleep(self, host: Host) -> None:
        host.sleep()
        self.scenario.world.after(self._for_a_while_s(), host.wake)

    def _cut_off(self, host: Host) -> None:
        self.scenario.weather.cut_off[host.instance_id] = self.scenario.world.now + self._for_a_while_s()

    def _reboot(self, host: Host) -> None:
        host.reboot()

    def _break_hooks(self, host: Host) -> None:
        self.scenario.failing = self.scenario.world.random.choice((1, 2))

    def _sicken(self, host: Host) -> None:
        self.scenario.ill = "" if self.scenario.ill else host.instance_id

    def _outage(self, host: Host) -> None:
        self.scenario.weather.away_until_s = self.scenario.world.now + self._for_a_while_s()

    def _step(self, host: Host) -> None:
        self.scenario.weather.step_s += self.scenario.world.random.choice((-300.0, 30.0, 3_600.0))

    def _fill(self, host: Host) -> None:
        self.scenario.machines.full = {pool for pool in POOLS if self.scenario.world.random.random() < 0.5}

    def _keep_or_restore(self, host: Host) -> None:
        """A backup is made; much later the database becomes what it was then, and servers notice."""
        if not isinstance(self.scenario.groups, MemoryGroups):
            return
        if self._backup is None:
            self._backup = self.scenario.groups.backup()
            return
        backup, self._backup = self._backup, None
        self.scenario.groups.restore(backup)  # type: ignore[arg-type]
        self.scenario.world.after(2 * LEASE_S, self._recovered)

    def _recovered(self) -> None:
        for server in self.scenario.servers:
            server.recovered()
