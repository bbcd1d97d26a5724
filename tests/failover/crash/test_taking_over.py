"""A primary goes, and whatever can fail fails: never two serve, and one serves in the end."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

from holdfast.cloud.machines import Instance, State
from holdfast.failover.asks import Notice, Register, notice, register
from holdfast.failover.group import Group, GroupSettings, Member, NoticeKind, Switch
from holdfast.failover.ports import Effect, InstanceSeen, Launch, Launched, Seen, Term
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Policy, Situation
from holdfast.failover.workflow import workflow
from holdfast.kernel import (
    Busy,
    Conflict,
    Done,
    DriverPorts,
    Event,
    Unknown,
    Versioned,
    Wait,
    Write,
    advance,
)
from holdfast.sim.failover.store import MemoryGroups
from holdfast.sim.gate import Crash, Enumerated, Gated, Kind
from holdfast.testing.choices import Choose, every_run
from holdfast.testing.legal.group import illegal_commit
from tests.deep import DEEP
from tests.failover.model.bench import SUBJECT
from tests.failover.model.puppets import Puppet
from tests.proof import prove

TERM = Term(10.0)
TURNS_MAX = 120


@dataclass
class Story:
    """What befalls a group of some members, whose first one serves."""

    members: int = 3
    machines: bool = False
    settings: GroupSettings = field(default_factory=GroupSettings)
    begin: Callable[["Run"], None] = lambda run: None
    primary: str = "i-2"
    epoch: int = 2
    machines_made: int = 0


class Run:
    """One story, under one schedule of faults."""

    def __init__(self, choose: Choose, faults: int, story: Story) -> None:
        self.gate, self.story, self.now = Enumerated(choose, 0), story, 1_000.0
        self.policy = Policy(
            term=TERM, machines=story.machines, pools=("m.a", "m.b", "m.c"), look_again_s=2.0
        )
        self.flow: Any = workflow(self.policy)
        self.ids = (f"commit-{n}" for n in count())
        self.store = MemoryGroups(self.now_s)
        self.accidents: list[str] = []
        self.puppets: dict[str, Puppet] = {}
        self.cloud: dict[str, Instance] = {}
        self.tokens: dict[str, str] = {}
        ids = [f"i-{n}" for n in range(1, story.members + 1)]
        members = tuple(self._member(i, Status.PRIMARY if i == "i-1" else Status.REPLICA) for i in ids)
        group = Group(
            client_id="acme", agent_id="db", epoch=1, served_epoch=1, members=members, created_s=1.0,
            settings=story.settings,
        )  # fmt: skip
        self.commit(Write(group, (Event("created", self.now),)))
        for instance_id in ids:
            self._puppet(instance_id)
        self.heartbeats()
        self.heartbeats()
        assert self.puppets["i-1"].serves(self.now)
        story.begin(self)
        self.gate.budget = faults

    def _member(self, instance_id: str, status: Status) -> Member:
        return Member(instance_id=instance_id, status=status, instance_type="m", az="a")

    def _puppet(self, instance_id: str) -> None:
        self.puppets[instance_id] = Puppet(instance_id)
        self.store.take_session(SUBJECT, instance_id, f"s-{instance_id}", "boot")
        self.cloud.setdefault(instance_id, Instance(instance_id, State.RUNNING, "a", "m"))

    def commit(self, asked: Any) -> None:
        assert isinstance(asked, Write), asked
        self.store.commit(SUBJECT, self.store.read(SUBJECT), asked, next(self.ids))

    def situation(self) -> Situation:
        return Situation(self.store.read(SUBJECT).value, self.look(), self.now, self.policy)

    def now_s(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def heartbeats(self) -> None:
        for puppet in list(self.puppets.values()):
            puppet.beat(self.store, TERM, self.now)
            self.judge()

    def judge(self) -> None:
        serving = [p.instance_id for p in self.puppets.values() if p.serves(self.now)]
        if len(serving) > 1:
            self.accidents.append(f"S-F3: {' and '.join(serving)} serve at once")

    def look(self) -> Seen:
        look = self.store.look(SUBJECT)
        instances = {
            row.instance_id: InstanceSeen(
                lease_left_s=max(0.0, row.lease_until_s - self.now), session=row.session, report=row.report,
                silent_s=self.now - row.heartbeat_s if row.heartbeat_s else float("inf"),
            )
            for row in look.rows
        }  # fmt: skip
        cloud = tuple(self.cloud.values()) if self.story.machines else None
        return Seen(instances=instances, cloud=cloud, launches_left=look.launches_left, ready_s=look.ready_s)

    def perform(self, effect: Effect) -> Launched | None:
        if not isinstance(effect, Launch):
            self.cloud[effect.instance_id] = Instance(effect.instance_id, State.TERMINATED, "a", "m")
            self.puppets[effect.instance_id].dead = True
            if not any(p.serves(self.now) for p in self.puppets.values()):
                self.accidents.append(f"S-F7: {effect.instance_id} is ended, and no member serves")
            return None
        if effect.token not in self.tokens:
            self.tokens[effect.token] = instance_id = f"m-{len(self.tokens)}"
            self.cloud[instance_id] = Instance(instance_id, State.RUNNING, "b", "m", token=effect.token)
        return Launched(self.tokens[effect.token])

    def arrive(self) -> None:
        """Machines that have booted register; what the record does not want is not enabled."""
        for token, instance_id in self.tokens.items():
            if instance_id not in self.puppets and self.store.read(SUBJECT).value.member(instance_id):
                ask = Register(instance_id=instance_id, invited=False, token=token)
                asked = register(self.store.read(SUBJECT).value, ask, self.now)
                if isinstance(asked, Write):
                    self.commit(asked)
                    self._puppet(instance_id)

    def judged(
        self, subject: str, found: Versioned[Group], write: Write[Group], commit_id: str
    ) -> Versioned[Group]:
        before = self.store.read(subject)
        done = self.store.commit(subject, found, write, commit_id)
        if done.version > before.version:
            self.accidents += illegal_commit(before, done, write)
        return done

    def ports(self) -> DriverPorts[Group, Seen, Effect]:
        gated: Gated[Group] = Gated(_Judged(self), self.gate)
        before = self.look()
        return DriverPorts.on(
            gated,
            SUBJECT,
            look=lambda: self.gate.call("look", Kind.LOOK, self.look, stale=lambda: before),
            perform=lambda effect: self.gate.call(
                type(effect).__name__, Kind.CHANGE, lambda: self.perform(effect)
            ),
            clock=self,
            new_id=lambda: next(self.ids),
            random=lambda: 1.0,
        )

    def to_the_end(self) -> None:
        for _ in range(TURNS_MAX):
            self.now += 1
            self.heartbeats()
            self.arrive()
            try:
                ahead = advance(self.ports(), self.flow)
            except (Crash, Busy, Unknown, Conflict):
                continue
            if isinstance(ahead, Wait):
                self.now = max(self.now, min(ahead.until_s, self.now + 3))
            if isinstance(ahead, Wait | Done) and not self.gate.stale and self.settled():
                return
        raise AssertionError(f"it never ends: {self.store.read(SUBJECT).value}\n" + self.gate.story())

    def settled(self) -> bool:
        group = self.store.read(SUBJECT).value
        puppet = self.puppets.get(group.primary or "")
        if group.primary == "i-1" or puppet is None or not puppet.serves(self.now):
            return False
        leaves = self.story.machines and group.settings.auto_terminate
        return not leaves or group.member("i-1") is None


class _Judged:
    """The store of a run, whose commits are judged."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.read, self.commit = run.store.read, run.judged
        self.commit_id_at, self.events = run.store.commit_id_at, run.store.events


def noticed(run: Run) -> None:
    ask = Notice("i-1", NoticeKind.TERMINATION, run.now + 120)
    run.commit(notice(run.situation(), ask))
    run.puppets["i-1"].deaf = True


def second_fails(run: Run) -> None:
    noticed(run)
    run.puppets["i-2"].fails = True


def switched(run: Run, wanted: str = "i-3") -> None:
    switch = Switch(wanted, "ada", run.now - 1, run.now + 900)
    group = run.store.read(SUBJECT).value.put(switch=switch)
    run.commit(Write(group, (Event("switchAsked", run.now),)))


def switched_to_second(run: Run) -> None:
    switched(run, "i-2")


STORIES = {
    "takeover": Story(begin=noticed),
    "failed promotion": Story(begin=second_fails, primary="i-3", epoch=3),
    "switch": Story(begin=switched, primary="i-3"),
    "launch": Story(
        members=1, machines=True, begin=noticed, primary="m-0", machines_made=1,
        settings=GroupSettings(standbys=0, auto_terminate=False),
    ),
    "departure": Story(
        members=2, machines=True, begin=switched_to_second,
        settings=GroupSettings(standbys=0, terminate_wait_s=3),
    ),
}  # fmt: skip
QUICK = {"takeover": 2, "failed promotion": 1, "switch": 2, "launch": 1, "departure": 1}


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        *QUICK.items(),
        *(pytest.param(name, 3, marks=DEEP) for name in STORIES),
    ],
)
def test_never_two_serve_and_one_serves_in_the_end_whatever_dies(name: str, faults: int) -> None:
    story, schedules = STORIES[name], 0
    for choose in every_run():
        run = Run(choose, faults, story)
        run.to_the_end()
        schedules += 1

        group = run.store.read(SUBJECT).value
        assert not run.accidents, f"{run.accidents}\n{run.gate.story()}"
        assert group.primary == story.primary, run.gate.story()
        assert group.epoch == story.epoch, "as many revocations as needed, however often they were tried"
        kinds = [e.event.kind for e in run.store.events(SUBJECT)]
        assert kinds.count("promoted") == 1, run.gate.story()
        assert len(run.tokens) == story.machines_made, "one machine for each token that had success"

    prove("crash", name, schedules=schedules, faults=faults)
