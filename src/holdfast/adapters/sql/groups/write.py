"""One commit of a group: all its rows, in the order that keeps every statement legal.

Demotions come before the promotion, so that the unique index over primaries holds at each statement, and the
promotion is the body of `promote_instance_to_primary`, which refuses while another's lease runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from holdfast.adapters.sql.connection import Dialect, Failure, Trouble
from holdfast.adapters.sql.database import Transaction
from holdfast.adapters.sql.groups import log
from holdfast.adapters.sql.groups.codec import group_body, loaded, member_body, replica_body
from holdfast.adapters.sql.groups.promote import promote
from holdfast.failover.group import Group, Member, NoticeKind, Replica, ReplicaStatus
from holdfast.failover.ports import StoredRequest
from holdfast.failover.roles import Status
from holdfast.kernel import Conflict, Invalid, Write

UNVERSIONED: Final = -1
BOOTING: Final = (ReplicaStatus.LAUNCHING, ReplicaStatus.SYNCING)


@dataclass(frozen=True, slots=True)
class Stored:
    """The locked row of the agent."""

    subject: str
    client_id: str
    version: int | None
    body: Any
    expected: int


@dataclass(frozen=True, slots=True)
class WriteGroup:
    dialect: Dialect
    tx: Transaction
    stored: Stored
    write: Write[Group]
    version: int
    commit_id: str

    def run(self, request: StoredRequest | None) -> None:
        group, tx, subject = self.write.value, self.tx, self.stored.subject
        known = {row[0]: row[1:] for row in tx.rows("lock_instances", id=subject)}
        self._members(group, known)
        self._replicas(group)
        if request is not None:
            self._request(request)
        log.tell(tx, subject, self.version, self.commit_id, self.write)
        tx.run("count_change")
        ((changed_n,),) = tx.rows("change_number")
        if tx.count("put_agent", **self._agent(group), changed_n=changed_n) != 1:
            raise Conflict(f"{subject}: version {self.stored.version} is gone")

    def _agent(self, group: Group) -> dict[str, Any]:
        noticed = _noticed(group)
        return {
            "id": self.stored.subject,
            "stored": UNVERSIONED if self.stored.version is None else self.stored.version,
            "holder": group.holder,
            "version": self.version,
            "commit_id": self.commit_id,
            "epoch": group.epoch,
            "mode": str(group.settings.mode),
            "auto_terminate": group.settings.auto_terminate,
            "terminate_wait_s": group.settings.terminate_wait_s,
            "notice": str(noticed.notice) if noticed else str(NoticeKind.NONE),
            "notice_s": noticed.notice_at_s if noticed else 0.0,
            "deadline_s": noticed.deadline_s if noticed else 0.0,
            "taking_over": group.takeover is not None,
            "body": group_body(group, loaded(self.stored.body)),
        }

    def _members(self, group: Group, known: Mapping[str, Any]) -> None:
        placed = list(enumerate(group.members))
        for _, member in placed:
            if member.instance_id not in known:
                self._add(member)
            elif known[member.instance_id][0] == Status.TERMINATED:
                raise Conflict(f"{self.stored.subject}: {member.instance_id} is terminated, for ever")
        ids = {member.instance_id for member in group.members}
        for instance_id, (status, _, _) in known.items():
            if instance_id not in ids and status != Status.TERMINATED:
                at_s = max(event.at_s for event in self.write.events)
                self.tx.run("leave_record", **self._place(instance_id), epoch=group.epoch, at_s=at_s)
        was = next((each for each, (_, is_primary, _) in known.items() if is_primary), None)
        for position, member in sorted(placed, key=lambda each: each[1].status.is_primary):
            if member.status.is_primary and member.instance_id != was:
                self._promote(group, member)
            body = known[member.instance_id][2] if member.instance_id in known else None
            self.tx.run("put_instance", **self._row(group, member, position, loaded(body)))
        self._end_lease(group)

    def _end_lease(self, group: Group) -> None:
        """The commit that says that the last holder has stopped ends what is left of its lease: the next
        takeover need not wait for it.  No later commit does: that member may be reinstated by then."""
        before = loaded(self.stored.body).get("takeover") or {}
        takeover = group.takeover
        if takeover is not None and takeover.fenced and takeover.last_holder and not before.get("fenced"):
            place = {"id": self.stored.subject, "client_id": self.stored.client_id}
            self.tx.run("end_lease", **place, instance_id=takeover.last_holder)

    def _promote(self, group: Group, member: Member) -> None:
        fenced = group.takeover.last_holder if group.takeover and group.takeover.fenced else ""
        promote(
            self.dialect,
            self.tx,
            subject=self.stored.subject,
            instance_id=member.instance_id,
            expected=UNVERSIONED if self.stored.version is None else self.stored.version,
            fenced=fenced,
        )

    def _add(self, member: Member) -> None:
        status = Status.REPLICA if member.status.is_primary else member.status
        place = {"id": self.stored.subject, "client_id": self.stored.client_id}
        try:
            self.tx.run("add_instance", **place, instance_id=member.instance_id, status=str(status))
        except Trouble as trouble:
            if trouble.failure is not Failure.DUPLICATE:
                raise
            raise Invalid(
                f"instance_id = {member.instance_id!r}: belongs to another agent of {self.stored.client_id} "
                "(an instance has one agent for all its life: use another id)"
            ) from trouble

    def _place(self, instance_id: str) -> dict[str, Any]:
        return {
            "id": self.stored.subject,
            "client_id": self.stored.client_id,
            "instance_id": instance_id,
            "goal_version": self.version,
        }

    def _row(self, group: Group, member: Member, position: int, stored: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **self._place(member.instance_id),
            "position": position,
            "is_primary": member.status.is_primary,
            "status": str(member.status),
            "version": member.version,
            "instance_type": member.instance_type,
            "region": member.region,
            "az": member.az,
            "demoted_s": member.demoted_at_s,
            "epoch": group.epoch,
            "paused_until_s": group.paused_until_s,
            "body": member_body(member, stored),
        }

    def _replicas(self, group: Group) -> None:
        """Launch intents; one that is new, or tried anew, is charged to the client's budget."""
        known = {row[0]: row[1:] for row in self.tx.rows("known_replicas", id=self.stored.subject)}
        place = {"id": self.stored.subject, "client_id": self.stored.client_id}
        launches = 0
        for position, replica in enumerate(group.replicas):
            status, _, body = known.get(replica.replica_id, (None, None, None))
            before = loaded(body)
            if status is None:
                self.tx.run("add_replica", **place, replica_id=replica.replica_id, status=str(replica.status))
            launches += replica.token != before.get("token")
            self.tx.run("put_replica", **place, **_replica(replica, position, before))
            if status in BOOTING and replica.status is ReplicaStatus.READY:
                ready_s = max(event.at_s for event in self.write.events) - replica.created_s
                client_id = self.stored.client_id
                self.tx.run("pool_sample", client_id=client_id, pool=replica.pool, seconds=ready_s)
        ids = {replica.replica_id for replica in group.replicas}
        for replica_id, (_, position, _) in known.items():
            if replica_id not in ids and position is not None:
                self.tx.run("replica_leaves", **place, replica_id=replica_id)
        if launches:
            self._charge(launches)

    def _charge(self, launches: int) -> None:
        """The row is taken at once: an insert before would hold it in a way that two cannot hold."""
        client_id = self.stored.client_id
        if self.tx.count("take_launches", client_id=client_id, launches=launches) == 1:
            return
        if not self.tx.rows("launches_left", client_id=client_id):
            self.tx.run("add_client_if_missing", client_id=client_id)
            if self.tx.count("take_launches", client_id=client_id, launches=launches) == 1:
                return
        raise Conflict(f"{client_id}: its launch budget of this hour is spent")

    def _request(self, request: StoredRequest) -> None:
        self.tx.run(
            "add_request",
            client_id=request.client_id,
            request_id=request.request_id,
            digest=request.digest,
            commit_id=self.commit_id,
            answer=request.answer,
            http_status=request.http_status,
        )


def _replica(replica: Replica, position: int, stored: Mapping[str, Any]) -> dict[str, Any]:
    instance_type, _, az = replica.pool.rpartition(".")
    return {
        "replica_id": replica.replica_id,
        "position": position,
        "instance_id": replica.instance_id,
        "status": str(replica.status),
        "emergency": replica.emergency,
        "promoted_s": replica.promoted_at_s,
        "instance_type": instance_type,
        "region": az[:-1],
        "az": az,
        "body": replica_body(replica, stored),
    }


def _noticed(group: Group) -> Member | None:
    """Whose notice counts for the group: the one that holds the role, else the newest."""
    noticed = [member for member in group.members if member.notice is not NoticeKind.NONE]
    return max(noticed, key=lambda each: (each.status.is_primary, each.notice_at_s), default=None)
