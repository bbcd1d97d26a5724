"""Groups in SQL: `holdfast.failover.ports.GroupStore` on any of the three databases."""

from collections.abc import Sequence
from typing import Final

from holdfast.adapters.sql.connection import Begin
from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups import log, seen
from holdfast.adapters.sql.groups.codec import check_id, group_of, key_of
from holdfast.adapters.sql.groups.renew import renew
from holdfast.adapters.sql.groups.write import Stored, WriteGroup
from holdfast.failover.group import Group
from holdfast.failover.ports import Beat, Grant, Look, StoredRequest, Term
from holdfast.kernel import Conflict, Invalid, Logged, Versioned, Write
from holdfast.kernel.item import load_version

REQUESTS_KEPT_S: Final = 86_400.0
SESSION_MAX: Final = 128


class SqlGroupStore:
    """One row in `agents`, one a member in `instances`, changed together.

    The version belongs to the group.  A version an instance would let two replicas be
    promoted one after the other, each with a version that was right for itself.
    """

    def __init__(self, database: SqlDatabase) -> None:
        self.database = database

    def read(self, subject: str) -> Versioned[Group]:
        key_of(subject)
        with self.database.transaction(Begin.READ) as tx:
            agent = next(iter(tx.rows("read_agent", id=subject)), None)
            instances, replicas = tx.rows("read_instances", id=subject), tx.rows("read_replicas", id=subject)
            version = agent[0] if agent and agent[0] is not None else log.last_told(tx, subject)
        version = load_version({"version": version}, table=f"{self.database.where}: agents", key=subject)
        value = group_of(self.database.where, subject, agent and agent[2:], instances, replicas)
        return Versioned(value, version, agent[1] if agent else "")

    def commit(
        self,
        subject: str,
        found: Versioned[Group],
        write: Write[Group],
        commit_id: str,
        request: StoredRequest | None = None,
    ) -> Versioned[Group]:
        client_id, agent_id = key_of(subject)
        for member in write.value.members:
            check_id("instance_id", member.instance_id)
        version = found.version + 1
        with self.database.transaction() as tx:
            agent = next(iter(tx.rows("lock_agent", id=subject)), None)
            if agent is None:
                tx.run("add_agent", id=subject, client_id=client_id, agent_id=agent_id)
                (agent,) = tx.rows("lock_agent", id=subject)
            stored = agent[0] if agent[0] is not None else log.last_told(tx, subject)
            if log.may_write(tx, subject, stored=stored, expected=found.version, commit_id=commit_id):
                told = Stored(subject, client_id, agent[0], agent[6], found.version)
                WriteGroup(self.database.dialect, tx, told, write, version, commit_id).run(request)
        return Versioned(write.value, version, commit_id)

    def commit_id_at(self, subject: str, version: int) -> str | None:
        found = self.database.rows("commit_id_at", id=subject, version=version)
        return str(found[0][0]) if found else None

    def events(self, subject: str, after: int = 0) -> Sequence[Logged]:
        return log.events(self.database, subject, after)

    def request(self, client_id: str, request_id: str) -> StoredRequest | None:
        found = self.database.rows("request", client_id=client_id, request_id=request_id)
        return StoredRequest(client_id, request_id, *found[0]) if found else None

    def forget_requests(self) -> None:
        """Drop answers that no agent asks for any more.  Twice is once."""
        self.database.run("forget_requests", kept_s=REQUESTS_KEPT_S)

    def renew(self, beats: Sequence[Beat], term: Term) -> Sequence[Grant]:
        return renew(self.database, beats, term)

    def look(self, subject: str) -> Look:
        return seen.look(self.database, subject)

    def take_session(self, subject: str, instance_id: str, session: str, boot_id: str) -> float:
        for what, value in (("session", session), ("boot_id", boot_id)):
            if len(value) > SESSION_MAX:
                raise Invalid(f"{what}: has {len(value)} letters (at most {SESSION_MAX})")
        place = {"id": subject, "client_id": key_of(subject)[0], "instance_id": instance_id}
        taken = self.database.run("take_session", **place, session=session, boot_id=boot_id)
        if taken.count:
            return 0.0
        found = self.database.rows("lease_left", **place)
        if not found:
            raise Conflict(f"{subject}: there is no instance {instance_id}: it must be registered first")
        return max(0.001, float(found[0][0]))  # it ran out between the two statements: ask again

    def clock_s(self) -> float:
        return float(self.database.rows("now")[0][0])

    def newest_heartbeat_s(self) -> float:
        return float(self.database.rows("newest_heartbeat")[0][0] or 0.0)

    def due(self, limit: int) -> Sequence[str]:
        return [str(subject) for (subject,) in self.database.rows("due", most=limit)]

    def set_due(self, subject: str, version: int, after_s: float) -> None:
        self.database.run("set_due", id=subject, version=version, after_s=after_s)

    def claim(self, subject: str, driver: str, for_s: float) -> bool:
        return self.database.run("claim", id=subject, driver=driver, for_s=for_s).count == 1

    def changed(self, after_n: int) -> Sequence[tuple[str, int]]:
        return [(str(subject), int(n)) for subject, n in self.database.rows("changed", after_n=after_n)]

    def change_number(self) -> int:
        """How far the database has come: a smaller one than before means that it went back.  Repeatable.

        One below 0 was marked as restored.
        """
        ((n,),) = self.database.rows("change_number")
        return int(n)

    def mark_restored(self, known: int) -> None:
        """The database is behind a number that a server has seen: all servers are told, by a number below 0.

        No commit lifts it to 0 again, only `raise_change_number` does.  Twice is once.  Fence: a database
        that has reached the number is left as it is.
        """
        self.database.run("mark_restored", known=known)

    def raise_change_number(self, n: int) -> None:
        """After a restore was accepted: at least this one from now on.  Twice is once."""
        self.database.run("raise_change_number", n=n)
