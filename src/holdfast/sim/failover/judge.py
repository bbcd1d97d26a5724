"""What no schedule may do to a group: watched at every commit, start of serving, and end of a machine."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from holdfast.failover.group import Group
from holdfast.failover.ports import Terminate
from holdfast.failover.rules.rule import Policy
from holdfast.kernel import Versioned, Write
from holdfast.sim.failover.host import Host
from holdfast.testing.legal.group import illegal_commit


@dataclass
class Judge:
    now_s: Callable[[], float]
    policy: Policy
    spare_s: float
    """A process that decided to end a machine may have slept for so long since its look."""
    accidents: list[str] = field(default_factory=list)
    served_s: dict[str, float] = field(default_factory=dict)
    """When each instance was last known to serve."""
    _serving: set[str] = field(default_factory=set)

    def commit(self, before: Versioned[Group], after: Versioned[Group], write: Write[Group]) -> None:
        self.accidents += illegal_commit(before, after, write)

    def serving(self, hosts: Iterable[Host]) -> None:
        """S-F3: never two of them serve at once."""
        now = [host for host in hosts if host.serves]
        for instance_id in {*self._serving, *(host.instance_id for host in now)}:
            self.served_s[instance_id] = self.now_s()
        self._serving = {host.instance_id for host in now}
        if len(now) > 1:
            names = " and ".join(f"{host.instance_id} (epoch {host.serving})" for host in now)
            self.accidents.append(f"S-F3: {names} serve at once at {self.now_s():.1f}")

    def ends(self, effect: Terminate, group: Group, hosts: Sequence[Host]) -> None:
        """S-F7: the last good copy is never ended; S-F5: nor anything that is not condemned."""
        member = group.member(effect.instance_id)
        if member is not None and member.status.value not in ("terminating", "terminated"):
            self.accidents.append(f"S-F5: {effect.instance_id} is ended, and is {member.status.value}")
        had_data = any(host.instance_id == effect.instance_id and host.disk[1] for host in hosts)
        well = [
            host
            for host in hosts
            if host.instance_id != effect.instance_id
            and (host.serves or self.now_s() - self.served_s.get(host.instance_id, 0.0) <= self.spare_s)
        ]
        if had_data and not well:
            self.accidents.append(
                f"S-F7: {effect.instance_id} is ended at {self.now_s():.0f}, and no other member serves"
            )
