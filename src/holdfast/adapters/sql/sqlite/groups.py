"""Groups in SQLite: one row in `agents`, one a member in `instances`, changed together.

The version belongs to the group.  A version an instance would let two replicas be
promoted one after the other, each with a version that was right for itself.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any

from holdfast.adapters.sql.sqlite.database import Database
from holdfast.failover.group import Group, Member, Takeover
from holdfast.failover.ports import Grant, Heartbeat, Term
from holdfast.failover.roles import Role
from holdfast.kernel import Conflict, Corrupt, Logged, Versioned, Write
from holdfast.kernel.item import load_version

COLLECTION = "agents"


class SqliteGroupStore:
    """The embedded GroupStore."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def read(self, agent_id: str) -> Versioned[Group]:
        with self.database.transaction("DEFERRED") as db:
            row = self._find(db, agent_id)
            found = db.execute(MEMBERS, (agent_id,)).fetchall()
            version = (
                self.database.last_told(db, COLLECTION, agent_id) if row is None or row[0] is None else row[0]
            )
        version = load_version({"version": version}, table=f"{self.database.path}:agents", key=agent_id)
        _, commit_id, epoch, since_s, *takeover = row or (None, "", 0, 0.0)
        return Versioned(
            _group(self.database.path, agent_id, epoch, since_s, takeover, found), version, commit_id
        )

    def commit(
        self, agent_id: str, found: Versioned[Group], write: Write[Group], commit_id: str
    ) -> Versioned[Group]:
        version, group = found.version + 1, write.value
        with self.database.transaction() as db:
            row = self._find(db, agent_id)
            stored = (
                self.database.last_told(db, COLLECTION, agent_id) if row is None or row[0] is None else row[0]
            )
            if self.database.check_version(
                db, COLLECTION, agent_id, stored=stored, expected=found.version, commit_id=commit_id
            ):
                takeover = astuple(group.takeover) if group.takeover else (None,) * 5
                db.execute("INSERT OR IGNORE INTO agents (id) VALUES (?)", (agent_id,))
                values = (version, commit_id, group.epoch, group.since_s, *takeover, agent_id, row and row[0])
                changed = db.execute(UPDATE, values)
                if changed.rowcount != 1:
                    raise Conflict(f"{agent_id}: version {found.version} is gone")
                _put_members(db, self.database.path, group)
                self.database.tell(db, COLLECTION, agent_id, version, commit_id, write)
        return Versioned(group, version, commit_id)

    def commit_id_at(self, agent_id: str, version: int) -> str | None:
        return self.database.commit_id_at(COLLECTION, agent_id, version)

    def events(self, agent_id: str, after: int = 0) -> Sequence[Logged]:
        return self.database.events(COLLECTION, agent_id, after)

    def renew(self, heartbeats: Sequence[Heartbeat], term: Term) -> Sequence[Grant]:
        with self.database.transaction() as db:
            granted = [
                db.execute(RENEW, (term.kept_s, beat.instance_id, beat.agent_id, beat.epoch)).rowcount == 1
                for beat in heartbeats
            ]
        # Answered from each row after the commit: what was granted is what is stored.
        return [
            self._answer(beat, term.granted_s if ok else 0.0)
            for beat, ok in zip(heartbeats, granted, strict=True)
        ]

    def leases_left_s(self, agent_id: str) -> Mapping[str, float]:
        sql = "SELECT id, max(0, lease_until_s - now_s()) FROM instances WHERE agent_id = ?"
        return {instance_id: float(left_s) for instance_id, left_s in self.database.rows(sql, agent_id)}

    def _answer(self, beat: Heartbeat, lease_s: float) -> Grant:
        found = self.database.rows(ANSWER, beat.agent_id, beat.instance_id)
        if not found:
            return Grant(beat.instance_id, 0, False, 0.0)
        epoch, is_primary, left_s = found[0]
        serves = bool(is_primary) and epoch == beat.epoch and left_s > 0
        return Grant(beat.instance_id, epoch, bool(is_primary), lease_s if serves else 0.0)

    def _find(self, db: sqlite3.Connection, agent_id: str) -> Any:
        return db.execute(AGENT, (agent_id,)).fetchone()


MEMBERS = "SELECT id, instance_status, is_primary, ready FROM instances WHERE agent_id = ? ORDER BY position"
AGENT = """
SELECT version, commit_id, epoch, since_s,
  takeover_old, takeover_reason, takeover_started_s, takeover_asked, takeover_fenced
FROM agents WHERE id = ?
"""
UPDATE = """
UPDATE agents SET version = ?, commit_id = ?, epoch = ?, since_s = ?,
  takeover_old = ?, takeover_reason = ?, takeover_started_s = ?, takeover_asked = ?, takeover_fenced = ?
WHERE id = ? AND version IS ?
"""
RENEW = """
UPDATE instances SET lease_until_s = max(lease_until_s, now_s() + ?)
WHERE id = ? AND agent_id = ? AND is_primary
  AND EXISTS (SELECT 1 FROM agents WHERE agents.id = instances.agent_id AND agents.epoch = ?)
"""
ANSWER = """
SELECT agents.epoch, instances.is_primary, instances.lease_until_s - now_s()
FROM agents JOIN instances ON instances.agent_id = agents.id WHERE agents.id = ? AND instances.id = ?
"""
PUT = """
INSERT INTO instances (id, agent_id, position, is_primary, instance_status, ready) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET position = excluded.position, is_primary = excluded.is_primary,
  instance_status = excluded.instance_status, ready = excluded.ready WHERE agent_id = excluded.agent_id
"""


def _put_members(db: sqlite3.Connection, path: str, group: Group) -> None:
    """Demotions before promotions: the unique index holds at every statement."""
    ids = [member.instance_id for member in group.members]
    others = f"DELETE FROM instances WHERE agent_id = ? AND id NOT IN ({', '.join('?' * len(ids))})"
    db.execute(others, (group.agent_id, *ids))
    placed = list(enumerate(group.members))
    for position, member in sorted(placed, key=lambda each: each[1].role is Role.PRIMARY):
        primary, status = member.role is Role.PRIMARY, member.role.value
        row = (member.instance_id, group.agent_id, position, primary, status, member.ready)
        if db.execute(PUT, row).rowcount != 1:
            problem = f"{member.instance_id} belongs to another agent"
            raise Corrupt(
                table=f"{path}:instances", key=member.instance_id, attribute="agent_id", problem=problem
            )


def _group(
    path: str, agent_id: str, epoch: object, since_s: object, takeover: Sequence[Any], rows: Sequence[Any]
) -> Group:
    def corrupt(attribute: str, problem: str) -> Corrupt:
        where = f"{path}:agents and instances"
        return Corrupt(table=where, key=agent_id, attribute=attribute, problem=problem)

    if not isinstance(epoch, int) or epoch < 0:
        raise corrupt("epoch", f"is {epoch!r}; expected a whole number of at least 0")
    if not isinstance(since_s, int | float):
        raise corrupt("since_s", f"is {since_s!r}; expected seconds since the epoch")
    members = []
    for instance_id, status, is_primary, ready in rows:
        if status not in {role.value for role in Role}:
            raise corrupt("instance_status", f"{instance_id} is {status!r}; expected one of the known roles")
        if (status == Role.PRIMARY.value) != bool(is_primary):
            raise corrupt("is_primary", f"{instance_id} is {is_primary!r} but its status is {status!r}")
        members.append(Member(instance_id, Role(status), bool(ready)))
    try:
        return Group(
            agent_id=agent_id,
            epoch=epoch,
            since_s=since_s,
            members=tuple(members),
            takeover=_takeover(*takeover),
        )
    except (TypeError, ValueError) as error:
        raise corrupt("takeover", str(error)) from error


def _takeover(
    old: Any = None, reason: Any = None, started_s: Any = None, asked: Any = None, fenced: Any = None
) -> Takeover | None:
    if old is None:
        return None
    return Takeover(str(old), str(reason), float(started_s), bool(asked), bool(fenced))
