"""A primary gets a notice, and whatever can fail fails: never two serve, and one serves in the end."""

from itertools import count

from holdfast.failover import takeover
from holdfast.failover.group import Group, Member
from holdfast.failover.ports import Effect, Seen, Term
from holdfast.failover.roles import Role
from holdfast.kernel import Busy, Conflict, Done, DriverPorts, Event, Unknown, Wait, Workflow, Write, advance
from holdfast.sim.agents import SimAgent, SimGroup
from holdfast.sim.gate import Crash, Enumerated, Gated, Kind
from holdfast.sim.memory import MemoryGroups
from holdfast.testing.choices import Choose, every_run
from tests.proof import prove

AGENT = "agent-1"
TERM = Term(30.0)
TURNS_MAX = 60


class Run:
    """One handover, under one schedule of faults."""

    def __init__(self, choose: Choose, faults: int, workflow: Workflow[Group, Seen, Effect]) -> None:
        self.gate, self.workflow, self.now = Enumerated(choose, faults), workflow, 1_000.0
        self.ids = (f"commit-{n}" for n in count())
        self.store = MemoryGroups(self.now_s)
        ids = ("i-1", "i-2", "i-3")
        self.group = SimGroup({instance_id: SimAgent(AGENT, instance_id, self.now_s) for instance_id in ids})
        members = tuple(Member(i, Role.PRIMARY if i == "i-1" else Role.REPLICA, ready=True) for i in ids)
        first = Write(Group(agent_id=AGENT, epoch=1, members=members), (Event("registered", self.now),))
        self.store.commit(AGENT, self.store.read(AGENT), first, "registered")
        self.heartbeats()
        self.heartbeats()
        assert self.group.agents["i-1"].serving

    def now_s(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def heartbeats(self) -> None:
        """Every agent asks for a lease, the interrupted one too: it does not know yet."""
        agents = self.group.agents.values()
        for agent, grant in zip(agents, self.store.renew([a.heartbeat() for a in agents], TERM), strict=True):
            agent.hear(grant, self.now)
        self.group.judge()

    def look(self) -> Seen:
        return Seen(leases_left_s=self.store.leases_left_s(AGENT), interrupted=frozenset({"i-1"}))

    def ports(self) -> DriverPorts[Group, Seen, Effect]:
        before_the_notice = Seen(leases_left_s=self.store.leases_left_s(AGENT))
        return DriverPorts.on(
            Gated(self.store, self.gate),
            AGENT,
            look=lambda: self.gate.call("look", Kind.LOOK, self.look, stale=lambda: before_the_notice),
            perform=lambda effect: self.gate.call(
                str(effect), Kind.CHANGE, lambda: self.group.perform(effect)
            ),
            clock=self,
            new_id=lambda: next(self.ids),
            random=lambda: 1.0,
        )

    def to_the_end(self) -> None:
        for _ in range(TURNS_MAX):
            self.now += 1
            self.heartbeats()
            try:
                ahead = advance(self.ports(), self.workflow)
            except (Crash, Busy, Unknown, Conflict):
                continue
            if isinstance(ahead, Wait):
                self.now = max(self.now, ahead.until_s)
            if isinstance(ahead, Done) and not self.gate.stale:
                self.heartbeats()
                self.heartbeats()
                return
        raise AssertionError("it never ends\n" + self.gate.story())


def test_never_two_serve_and_one_serves_in_the_end_whatever_dies() -> None:
    schedules = 0
    for choose in every_run():
        run = Run(choose, 3, takeover.workflow(takeover.Policy()))
        run.to_the_end()
        schedules += 1

        group = run.store.read(AGENT).value
        assert not run.group.accidents, run.gate.story()
        assert group.primary == "i-2", run.gate.story()
        assert group.epoch == 2, "one revocation, however often it was tried\n" + run.gate.story()
        assert run.group.agents["i-2"].serving, run.gate.story()
        kinds = [e.event.kind for e in run.store.events(AGENT)]
        assert [kind for kind in kinds if kind in ("revoked", "promoted")] == ["revoked", "promoted"]

    assert schedules >= 5_000
    prove("crash", "takeover", schedules=schedules, faults=3)
