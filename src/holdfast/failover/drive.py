"""Drives one group until nothing is left to do now.

Every server may drive every group at any time: the version guards each step, and a claim only saves double
work.  The clock is the database's, taken through our own (clockwork).
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from holdfast.failover.clockwork import Clockwork, Revocations
from holdfast.failover.execute import perform
from holdfast.failover.group import Group, ReplicaStatus
from holdfast.failover.ports import Effect, GroupStore, Machines, Report, Seen, Term
from holdfast.failover.roles import Status
from holdfast.failover.rules.loss import LEASE_LOST
from holdfast.failover.rules.rule import Policy
from holdfast.failover.workflow import workflow
from holdfast.kernel import (
    Busy,
    Conflict,
    Do,
    Done,
    DriverPorts,
    Happened,
    NewId,
    Outcome,
    Random,
    Unknown,
    Versioned,
    Wait,
    Workflow,
    Write,
    advance,
)
from holdfast.kernel.driver import outcome_of

TURNS_MAX: Final = 50
LOOK_S: Final = 15.0
"""A group in which nothing is due is looked at so often all the same."""
LIST_S: Final = 30.0
"""The cloud is listed so often for a group in which nothing is launched or terminated."""


Told = Callable[[str, Versioned[Group], Write[Group]], None]


class Timekeeper:
    """The clockwork of one server process, shared by its threads."""

    def __init__(self, term: Term, boot_s: Callable[[], float], share: float = 0.1) -> None:
        """`share`: of all groups, so many may be revoked within a minute."""
        self._boot_s, self._lock = boot_s, threading.Lock()
        self._clockwork = Clockwork.begun(term, boot_s())
        self._revocations = Revocations(share)

    def heard(self, database_s: float) -> None:
        """The database has just answered, and its clock showed this."""
        with self._lock:
            self._clockwork = self._clockwork.heard(self._boot_s(), database_s)

    def withheld(self) -> None:
        """This server grants nothing at present, so it judges no silence for a while.  Twice is once."""
        with self._lock:
            self._clockwork = self._clockwork.withheld(self._boot_s())

    def surveyed(self, store: GroupStore) -> None:
        """What is asked of the database every second: its clock, and its newest heartbeat."""
        self.heard(store.clock_s())
        self._beaten(store)

    def _beaten(self, store: GroupStore) -> None:
        newest_s = store.newest_heartbeat_s()
        with self._lock:
            self._clockwork = self._clockwork.beaten(self._boot_s(), newest_s)

    def now_s(self) -> float:
        return self._clockwork.now_s(self._boot_s())

    def may_judge(self) -> bool:
        return self._clockwork.may_judge(self._boot_s())

    def may_revoke(self, groups: int, subject: str) -> bool:
        return self._revocations.may(self._boot_s(), groups, subject)

    def revoked(self, subject: str) -> None:
        with self._lock:
            self._revocations = self._revocations.noted(self._boot_s(), subject)

    def seen(self, store: GroupStore, group: Group) -> Seen:
        """One look, in the database's time."""
        look = store.look(group.subject)
        self.heard(look.now_s)
        if any(row.lease_until_s <= look.now_s for row in look.rows if row.instance_id in holders(group)):
            self._beaten(store)  # before it is believed
        with self._lock:
            boot_s = self._boot_s()
            self._clockwork, instances = self._clockwork.seen(group.subject, look, boot_s, group.long_until_s)
        return Seen(
            instances=instances, may_judge=self.may_judge(), launches_left=look.launches_left,
            ready_s=look.ready_s,
        )  # fmt: skip


def holders(group: Group) -> set[str]:
    """Whose leases decide: the primary, and the one that is being replaced."""
    return {group.primary or "", group.takeover.old if group.takeover else ""}


class Driver:
    """Drives the groups of one store, in whichever thread calls it."""

    def __init__(
        self,
        store: GroupStore,
        time: Timekeeper,
        policy: Policy,
        *,
        machines: Machines | None = None,
        groups: Callable[[], int] = lambda: 0,
        new_id: NewId,
        random: Random,
        sleep: Callable[[float], None],
        flow: Workflow[Group, Seen, Effect] | None = None,
        told: Told = lambda subject, found, write: None,
    ) -> None:
        """`groups` says how many there are: no more than a share of them is revoked within a minute.
        `told` hears of every commit: the group, what was found, and what was written over it."""
        self._store, self._time, self._policy, self._machines = store, time, policy, machines
        self._groups, self._new_id, self._random, self._sleep = groups, new_id, random, sleep
        self._flow, self._told = flow or workflow(policy), told
        self._listed_s: dict[str, float] = {}

    def drive(self, subject: str) -> Wait | Done:
        """Take turns until the group waits or nothing is left; says when to look again, and tells the store.

        Repeatable, at any time and in several places at once.
        """
        turn = _Turn(self._store, subject)
        ahead = self._turns(turn)
        if not isinstance(ahead, Wait | Done):
            ahead = Wait(self._time.now_s() + self._policy.look_again_s, "there is more to do")
        after_s = LOOK_S
        if isinstance(ahead, Wait):
            after_s = min(LOOK_S, max(0.05, ahead.until_s - self._time.now_s()))
        with suppress(Busy, Conflict, Unknown):  # then it stays due: another look costs little
            self._store.set_due(subject, turn.version, after_s)
        return ahead

    def _turns(self, turn: "_Turn") -> Write[Group] | Do[Effect] | Wait | Done:
        ports = self._ports(turn)
        for _ in range(TURNS_MAX):
            try:
                ahead = advance(ports, self._flow)
            except Conflict:
                continue
            except (Busy, Unknown) as error:
                return Wait(self._time.now_s() + self._policy.look_again_s, str(error))
            if isinstance(ahead, Write):
                if any(event.code == LEASE_LOST for event in ahead.events):
                    self._time.revoked(turn.subject)
                continue
            if isinstance(ahead, Do) and turn.noted:
                continue
            return ahead
        return Wait(self._time.now_s() + self._policy.look_again_s, f"{TURNS_MAX} turns were taken")

    def _ports(self, turn: "_Turn") -> DriverPorts[Group, Seen, Effect]:
        def act(effects: tuple[Effect, ...]) -> list[Outcome]:
            outcomes = [outcome_of(lambda effect: perform(self._machines, effect), one) for one in effects]
            launched = [isinstance(each, Happened) and each.answer is not None for each in outcomes]
            turn.noted = any(launched)  # a termination is seen in the cloud's list, some time later
            self._listed_s.pop(turn.subject, None)
            return outcomes

        return DriverPorts(
            read=turn.read,
            look=lambda: self._look(turn.group),
            commit=partial(self._commit, turn.subject),
            commit_id_at=lambda version: self._store.commit_id_at(turn.subject, version),
            perform=act,
            pause=self._sleep,
            now_s=self._time.now_s,
            new_id=self._new_id,
            random=self._random,
        )

    def _commit(
        self, subject: str, found: Versioned[Group], write: Write[Group], commit_id: str
    ) -> Versioned[Group]:
        done = self._store.commit(subject, found, write, commit_id)
        self._told(subject, found, write)
        return done

    def _look(self, group: Group) -> Seen:
        seen = self._time.seen(self._store, group)
        seen = replace(seen, may_revoke=self._time.may_revoke(self._groups(), group.subject))
        if self._machines is None or not self._lists(group):
            return seen
        return replace(seen, cloud=tuple(self._machines.instances(group.subject)))

    def _lists(self, group: Group) -> bool:
        """Whether the cloud is listed in this look: always while machines come or go, else now and then."""
        now_s = self._time.now_s()
        moving = any(m.status in MOVING or m.interrupted for m in group.members)
        launching = any(replica.status is ReplicaStatus.LAUNCHING for replica in group.replicas)
        if moving or launching or now_s >= self._listed_s.get(group.subject, 0.0) + LIST_S:
            self._listed_s[group.subject] = now_s
            return True
        return False


MOVING: Final = frozenset({Status.LAUNCHING, Status.DEMOTING, Status.TERMINATING})


class _Turn:
    """The record of the turn that is being taken."""

    def __init__(self, store: GroupStore, subject: str) -> None:
        self.subject, self._store = subject, store
        self.version, self.noted = 0, True
        self.group: Group

    def read(self) -> Versioned[Group]:
        found = self._store.read(self.subject)
        self.group, self.version = found.value, found.version
        return found


def worth_a_look(before: Report | None, now: Report, epoch: int) -> bool:
    """Whether a heartbeat says something that a rule waits for: its group is due at once."""
    if now.status == "stopping" or now.highest_epoch > epoch:
        return True
    if before is None:
        return True
    said = (now.hook_goal, now.hook_epoch, now.hook_state, now.healthy, now.sync_epoch, now.watchdog_ok)
    return said != (
        before.hook_goal, before.hook_epoch, before.hook_state, before.healthy, before.sync_epoch,
        before.watchdog_ok,
    )  # fmt: skip
