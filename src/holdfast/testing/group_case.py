"""A group under test, for the promises that every store of groups keeps: see `group_contract`."""

from dataclasses import replace
from typing import Final, Protocol

from holdfast.failover.group import Group, Member, Takeover
from holdfast.failover.ports import Beat, Grant, GroupStore, InstanceRow, Report, StoredRequest, Term
from holdfast.failover.roles import Status
from holdfast.kernel import Event, Versioned, Write

AT_S: Final = 1_730_000_000.0
"""When everything here happens, by the events."""


class GroupTrial(Protocol):
    """One implementation under test."""

    term: Term

    def new_id(self) -> str:
        """One that was never drawn before."""
        ...

    def open(self) -> GroupStore:
        """Another connection to the same storage."""
        ...

    def wait(self, seconds: float) -> None:
        """Let the database's clock go on for so long."""
        ...


class Case:
    """A group with a primary `i-1` and a replica `i-2`, each with its session."""

    def __init__(self, trial: GroupTrial, agent_id: str = "", client_id: str = "") -> None:
        self.trial, self.store = trial, trial.open()
        self.client_id = client_id or f"client-{trial.new_id()[:8]}"
        self.agent_id = agent_id or f"agent-{trial.new_id()[:8]}"
        self.subject = f"{self.client_id}/{self.agent_id}"
        members = (
            Member(instance_id="i-1", status=Status.PRIMARY),
            Member(instance_id="i-2", status=Status.REPLICA),
        )
        group = Group(client_id=self.client_id, agent_id=self.agent_id, epoch=1, members=members)
        self.found = self.put(group, self.store.read(self.subject))
        for instance_id in ("i-1", "i-2"):
            assert self.store.take_session(self.subject, instance_id, f"s-{instance_id}", "boot-1") == 0

    def put(
        self,
        group: Group,
        found: Versioned[Group] | None = None,
        request: StoredRequest | None = None,
        told: Event | None = None,
    ) -> Versioned[Group]:
        """Commit on what was found last."""
        write = Write(group, (told or Event("changed", AT_S),))
        self.found = self.store.commit(self.subject, found or self.found, write, self.trial.new_id(), request)
        return self.found

    def beat(
        self, instance_id: str = "i-1", epoch: int = 1, session: str = "", report: Report | None = None
    ) -> Beat:
        session = session or f"s-{instance_id}"
        return Beat(self.client_id, self.agent_id, instance_id, session, epoch, report or Report())

    def renew(self, *beats: Beat) -> list[Grant]:
        return list(self.store.renew(beats, self.trial.term))

    def row(self, instance_id: str) -> InstanceRow:
        return next(row for row in self.store.look(self.subject).rows if row.instance_id == instance_id)

    def left_s(self, instance_id: str) -> float:
        look = self.store.look(self.subject)
        return next(row.lease_until_s for row in look.rows if row.instance_id == instance_id) - look.now_s

    def revoke(self) -> Group:
        """End the epoch of `i-1`; the group as it would be with `i-2` promoting."""
        group = self.found.value
        takeover = Takeover(old="i-1", reason="a switch", code="switch")
        old = replace(group.members[0], status=Status.DEMOTING)
        self.put(replace(group, epoch=group.epoch + 1, members=(old, group.members[1]), takeover=takeover))
        group = self.found.value
        new = replace(group.members[1], status=Status.PROMOTING)
        return replace(group, members=(old, new), takeover=replace(takeover, candidate="i-2"))
