"""A primary whose clock runs slow, within the margin: its lease must be over there before it is over here."""

from typing import Any

from holdfast.failover import ports, takeover
from holdfast.failover.group import Group, Member
from holdfast.failover.ports import Seen
from holdfast.failover.roles import Role
from holdfast.kernel import Do, Event, Happened, Write
from holdfast.sim.agents import SimAgent, SimGroup
from holdfast.sim.memory import MemoryGroups
from tests.proof import prove
from tests.variants import broken

AGENT, SLOW = "agent-1", 0.0095


class Handover:
    """An interrupted primary that does not hear, and servers that look again and again."""

    def __init__(self, term: Any) -> None:
        self.now, self.term, self.commits = 1_000.0, term, 0
        self.store = MemoryGroups(lambda: self.now)
        self.group = SimGroup({i: SimAgent(AGENT, i, self.slow_clock) for i in ("i-1", "i-2")})
        members = (Member("i-1", Role.PRIMARY, True), Member("i-2", Role.REPLICA, True))
        self.commit(Write(Group(agent_id=AGENT, epoch=1, members=members), (Event("registered", 0.0),)))
        self.beat("i-1")
        self.beat("i-1")
        assert self.group.agents["i-1"].serving

    def slow_clock(self) -> float:
        return 1_000.0 + (self.now - 1_000.0) * (1 - SLOW)

    def commit(self, write: Write[Group]) -> None:
        self.commits += 1
        self.store.commit(AGENT, self.store.read(AGENT), write, f"commit-{self.commits}")

    def beat(self, instance_id: str) -> None:
        agent = self.group.agents[instance_id]
        sent_s = agent.now_s()
        agent.hear(self.store.renew([agent.heartbeat()], self.term)[0], sent_s)
        self.group.judge()

    def turn(self) -> None:
        """One server's turn, at a moment of its own."""
        group = self.store.read(AGENT).value
        seen = Seen(leases_left_s=self.store.leases_left_s(AGENT), interrupted=frozenset({"i-1"}))
        ahead = takeover.step(group, seen, self.now, takeover.Policy())
        if isinstance(ahead, Do):
            noted = takeover.settle(group, ahead.effects[0], Happened(False), self.now)
            assert noted is not None
            self.commit(noted)
        elif isinstance(ahead, Write):
            self.commit(ahead)

    def accidents(self) -> list[str]:
        for _ in range(1_400):
            self.now += 0.5
            self.turn()
            self.beat("i-2")
        assert self.group.agents["i-2"].serving, "the standby took over in the end"
        return self.group.accidents


def test_a_slow_clock_within_the_margin_never_lets_two_serve() -> None:
    assert not Handover(ports.Term(600.0)).accidents()


def test_h2_a_lease_that_is_kept_no_longer_than_it_was_granted_is_caught() -> None:
    careless = broken(
        "holdfast.failover.ports",
        {"return self.granted_s * (1 + self.clock_rate_margin)": "return self.granted_s"},
    )

    assert "i-1 and i-2 serve at once" in Handover(careless.Term(600.0)).accidents()
    prove("variant", "H2: a lease is kept no longer than it was granted", caught_by="a slow clock")
