"""One group on a store in memory, with agents that are puppets: tests move time and reports by hand."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from holdfast.cloud.machines import Instance
from holdfast.failover.asks import Register, register
from holdfast.failover.goals import Do as Goal
from holdfast.failover.goals import goal_of
from holdfast.failover.group import Group, GroupSettings, Member
from holdfast.failover.ports import Beat, Effect, InstanceSeen, Report, Seen, Term
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Policy
from holdfast.failover.workflow import workflow
from holdfast.kernel import Do, Done, Happened, Wait, Workflow, Write
from holdfast.sim.failover.store import MemoryGroups

SUBJECT, CLIENT, AGENT = "acme/db", "acme", "db"
TERM = Term(10.0)


@dataclass
class Bench:
    policy: Policy = field(default_factory=lambda: Policy(term=TERM))
    settings: GroupSettings = field(default_factory=GroupSettings)
    now: float = 1_000.0
    may_judge: bool = True
    may_revoke: bool = True
    cloud: list[Instance] | None = None
    flow: Workflow[Group, Seen, Effect] | None = None

    def __post_init__(self) -> None:
        self.store = MemoryGroups(lambda: self.now)
        self._ids = (f"commit-{n}" for n in count())
        self.reports: dict[str, Report] = {}
        self.silent: set[str] = set()
        self.effects: list[Effect] = []
        self.answers: dict[type, Any] = {}
        found = self.store.read(SUBJECT)
        self.group0 = replace(found.value, settings=self.settings)

    @property
    def group(self) -> Group:
        found = self.store.read(SUBJECT)
        return found.value if found.version else self.group0

    def member(self, instance_id: str) -> Member:
        member = self.group.member(instance_id)
        assert member is not None, f"{instance_id} is not in {self.group.members}"
        return member

    def status(self, instance_id: str) -> Status:
        return self.member(instance_id).status

    def commit(self, asked: Any) -> Group:
        assert isinstance(asked, Write), asked
        self.store.commit(SUBJECT, self.store.read(SUBJECT), asked, next(self._ids))
        return self.group

    def join(self, instance_id: str, **said: Any) -> None:
        """Register and be well from then on."""
        ask = Register(instance_id=instance_id, invited="token" not in said, **said)
        self.commit(register(self.group, ask, self.now))
        self.enrol(instance_id)

    def enrol(self, instance_id: str) -> None:
        """A member gets an agent, and is well from then on."""
        self.store.take_session(SUBJECT, instance_id, f"s-{instance_id}", f"b-{instance_id}")
        self.reports[instance_id] = Report(healthy=True, lag_s=0.0, sync_age_s=0.0)

    def seen(self) -> Seen:
        look = self.store.look(SUBJECT)
        instances: Mapping[str, InstanceSeen] = {
            row.instance_id: InstanceSeen(
                lease_left_s=max(0.0, row.lease_until_s - look.now_s),
                unleased_s=max(0.0, look.now_s - row.lease_until_s) if row.lease_until_s else 0.0,
                silent_s=look.now_s - row.heartbeat_s if row.heartbeat_s else float("inf"),
                session=row.session, report=row.report,
            )
            for row in look.rows
        }  # fmt: skip
        return Seen(
            instances=instances, may_judge=self.may_judge, may_revoke=self.may_revoke,
            cloud=None if self.cloud is None else tuple(self.cloud),
            launches_left=look.launches_left, ready_s=look.ready_s,
        )  # fmt: skip

    def step(self) -> Any:
        """One turn of a server: a write is committed, effects are answered and noted."""
        flow = self.flow or workflow(self.policy)
        ahead = flow.step(self.group, self.seen(), self.now)
        if isinstance(ahead, Write):
            self.commit(ahead)
        if isinstance(ahead, Do):
            for effect in ahead.effects:
                self.effects.append(effect)
                answer = self.answers.get(type(effect))
                outcome = answer(effect) if callable(answer) else Happened(answer)
                noted = flow.settle(self.group, effect, outcome, self.now)
                if noted:
                    self.commit(noted)
        return ahead

    def turns(self, turns: int = 30) -> Any:
        """Until it waits, or has done all that it can now."""
        for _ in range(turns):
            ahead = self.step()
            if isinstance(ahead, Wait | Done) or (isinstance(ahead, Do) and not self.answers):
                return ahead
        raise AssertionError(f"it never waits: {ahead}")

    def beat(self) -> None:
        """Every member that is not silent does what its goal says, and tells so."""
        found = self.store.read(SUBJECT)
        for member in found.value.members:
            if member.instance_id in self.silent or member.instance_id not in self.reports:
                continue
            goal = goal_of(found.value, member.instance_id, found.version, self.now)
            report = self.reports[member.instance_id]
            if goal.do in (Goal.PROMOTE, Goal.DEMOTE, Goal.STOP):
                state = report.hook_state if report.hook_state == "failed" else "done"
                report = replace(report, hook_goal=goal.do.value, hook_epoch=goal.epoch, hook_state=state)
            elif goal.primary:
                report = replace(report, sync_epoch=goal.epoch)
            report = replace(report, highest_epoch=max(report.highest_epoch, goal.epoch))
            if goal.do in (Goal.PROMOTE, Goal.SERVE):
                report = replace(report, served_epoch=goal.epoch)
            self.reports[member.instance_id] = report
            beat = Beat(CLIENT, AGENT, member.instance_id, f"s-{member.instance_id}", goal.epoch, report)
            self.store.renew([beat], TERM)

    def live(self, seconds: float, each_s: float = 1.0) -> None:
        """Heartbeats and turns, second by second."""
        until = self.now + seconds
        while self.now < until:
            self.beat()
            self.turns()
            self.now += each_s
        self.beat()
        self.turns()

    def kinds(self) -> list[str]:
        return [logged.event.kind for logged in self.store.events(SUBJECT)]

    def events(self, kind: str) -> list[Any]:
        return [logged.event for logged in self.store.events(SUBJECT) if logged.event.kind == kind]


def standing(**options: Any) -> Bench:
    """A group of three, whose first member serves."""
    bench = Bench(**options)
    for instance_id in ("i-1", "i-2", "i-3"):
        bench.join(instance_id, address=f"{instance_id}:5432")
    bench.live(15)
    assert bench.group.primary == "i-1", bench.group
    return bench
