"""A server of the simulated world: what agents ask of it, and the groups that it drives.

Its memory (clockwork, the highest change that it saw) goes with its process.  It grants nothing on a database
that has gone back in time, until an operator says `recover` (H30).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from holdfast.failover.agent import goals as agent_goals
from holdfast.failover.agent import words
from holdfast.failover.asks import Asked, Notice, Refusal, Register, notice, register
from holdfast.failover.drive import Driver, Timekeeper
from holdfast.failover.goals import goal_of
from holdfast.failover.group import Group, NoticeKind, subject_of
from holdfast.failover.ports import Beat, Effect, Grant, GroupStore, Machines, Report, Seen
from holdfast.failover.rules.rule import Policy, Situation
from holdfast.kernel import Conflict, Versioned, Workflow, Write
from holdfast.sim.failover.host import Host
from holdfast.sim.world import World

CLIENT, AGENT = "acme", "db"
SUBJECT = subject_of(CLIENT, AGENT)
TRIES = 8


@dataclass
class Server:
    world: World
    name: str
    policy: Policy
    flow: Workflow[Group, Seen, Effect]
    rate: float = 1.0
    highest_change: int = 0

    def __post_init__(self) -> None:
        self._began_s = self.world.now
        self.restart()

    def restart(self) -> None:
        """A new process: it knows nothing, but for the change number in its file."""
        self.time = Timekeeper(self.policy.term, self.boot_s)
        self._has_asked = False

    def boot_s(self) -> float:
        return (self.world.now - self._began_s) * self.rate

    def is_behind(self, store: GroupStore) -> bool:
        """Whether the database is older than what this server saw of it; a new process asks for its clock."""
        if not self._has_asked:
            self.time.surveyed(store)
            self._has_asked = True
        newest = max((n for _, n in store.changed(0)), default=0)
        if newest < self.highest_change:
            return True
        self.highest_change = newest
        return False

    def recovered(self) -> None:
        """An operator says that this database is the right one."""
        self.highest_change = 0

    def drive(self, store: GroupStore, machines: Machines | None, sleep: Callable[[float], None]) -> None:
        if self.is_behind(store):
            return
        self.time.surveyed(store)
        driver = Driver(
            store, self.time, self.policy, machines=machines, new_id=self.world.new_id,
            random=self.world.random.random, sleep=sleep, flow=self.flow,
        )  # fmt: skip
        for subject in store.due(100):
            driver.drive(subject)

    def register(self, store: GroupStore, host: Host, terminated: bool) -> words.Heard:
        if self.is_behind(store):
            return words.NotRegistered(self.policy.term.granted_s / 3)
        instance_type, _, az = host.pool.rpartition(".")
        ask = Register(
            instance_id=host.instance_id, invited=not host.token, terminated=terminated, token=host.token,
            instance_type=instance_type, az=az, address=host.instance_id,
        )  # fmt: skip
        done = self.ask(store, lambda group: register(group, ask, self.time.now_s()))
        known = words.Registered(
            enabled=False, heartbeat_s=host.timing.heartbeat_s, term_s=self.policy.term.granted_s
        )
        if isinstance(done, Refusal):
            return known
        left_s = store.take_session(SUBJECT, host.instance_id, host.session, f"boot-{host.session}")
        if left_s > 0:
            return words.NotRegistered(left_s)
        return replace(known, enabled=True, goal=self._goal(done, host.instance_id))

    def notice(self, store: GroupStore, host: Host, said: words.Notice, left_s: float) -> words.Heard:
        if self.is_behind(store):
            return words.NoticeLost(said.key)
        kind = NoticeKind(said.kind)
        now_s = self.time.now_s()
        asked = Notice(host.instance_id, kind, now_s + left_s if kind is NoticeKind.TERMINATION else 0.0)

        def noticed(group: Group) -> Asked:
            seen = self.time.seen(store, group)
            return notice(Situation(group, seen, self.time.now_s(), self.policy), asked)

        self.ask(store, noticed)
        return words.NoticeTaken(said.key)

    def ask(self, store: GroupStore, asked: Callable[[Group], Asked]) -> Versioned[Group] | Refusal:
        """Read, ask, commit; again after a Conflict."""
        for _ in range(TRIES):
            found = store.read(SUBJECT)
            answer = asked(found.value)
            if isinstance(answer, Refusal):
                return answer
            if not isinstance(answer, Write):
                return found
            try:
                return store.commit(SUBJECT, found, answer, self.world.new_id())
            except Conflict:
                continue
        raise Conflict(f"{SUBJECT}: changed {TRIES} times meanwhile")

    def renew(self, store: GroupStore, beats: Sequence[tuple[Host, words.Heartbeat]]) -> Sequence[Grant]:
        asked = [
            Beat(CLIENT, AGENT, host.instance_id, host.session, beat.epoch, _stored(beat))
            for host, beat in beats
        ]
        return store.renew(asked, self.policy.term)

    def answer(self, found: Versioned[Group], grant: Grant, sent_s: float) -> words.Heard:
        if not grant.known or not grant.session_ok:
            return words.Disowned()
        goal = self._goal(found, grant.instance_id)
        return words.Answered(
            sent_s=sent_s, epoch=grant.epoch, primary=grant.primary, lease_s=grant.lease_s, goal=goal,
            enabled=goal.do is not agent_goals.Do.STOP,
        )  # fmt: skip

    def _goal(self, found: Versioned[Group], instance_id: str) -> agent_goals.Goal:
        goal = goal_of(found.value, instance_id, found.version, self.time.now_s())
        return agent_goals.Goal(
            version=goal.version, epoch=goal.epoch, do=agent_goals.Do(goal.do.value),
            primary=goal.primary.instance_id if goal.primary else "",
            address=goal.primary.address if goal.primary else "", deadline_in_s=goal.deadline_in_s,
        )  # fmt: skip


def _stored(beat: words.Heartbeat) -> Report:
    return Report(**{name: getattr(beat.report, name) for name in Report.__dataclass_fields__})
