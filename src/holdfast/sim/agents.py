"""The instances of a group as failover meets them: each with a clock and a belief of its own.

An agent serves only under a lease, which it counts from the moment it *sent* the
heartbeat that was granted.  Told to stop, or hearing of another epoch, it stops at once.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from holdfast.failover.ports import Effect, Grant, Heartbeat


@dataclass
class SimAgent:
    agent_id: str
    instance_id: str
    now_s: Callable[[], float]
    """Its own clock: its rate may differ a little from the other agents'."""
    epoch: int = 0
    serves_until_s: float = 0.0
    stopped_epoch: int = -1
    alive: bool = True

    @property
    def serving(self) -> bool:
        return self.alive and self.now_s() < self.serves_until_s

    def heartbeat(self) -> Heartbeat:
        return Heartbeat(self.agent_id, self.instance_id, self.epoch)

    def hear(self, grant: Grant, sent_s: float) -> None:
        """Take the answer to a heartbeat that was sent at `sent_s` by its own clock."""
        if grant.epoch > self.epoch:
            self.epoch, self.serves_until_s = grant.epoch, 0.0
        elif grant.epoch == self.epoch > self.stopped_epoch and grant.lease_s:
            self.serves_until_s = max(self.serves_until_s, sent_s + grant.lease_s)

    def stop(self, ended_epoch: int) -> bool:
        """Stop serving under an epoch that has ended; says that it has."""
        if self.epoch <= ended_epoch:
            self.stopped_epoch, self.serves_until_s = max(self.stopped_epoch, ended_epoch), 0.0
        return True


@dataclass
class SimGroup:
    """Agents by instance, and the judge of what no schedule may do."""

    agents: dict[str, SimAgent]
    accidents: list[str] = field(default_factory=list)

    def perform(self, effect: Effect) -> object:
        agent = self.agents.get(effect.instance_id)
        if agent is None or not agent.alive:
            return False  # no agent answers: only the lease can tell
        return agent.stop(effect.ended_epoch)

    def judge(self) -> None:
        """S-F3: never two of them serve at once."""
        serving = [instance_id for instance_id, agent in self.agents.items() if agent.serving]
        if len(serving) > 1:
            self.accidents.append(f"{' and '.join(serving)} serve at once")
