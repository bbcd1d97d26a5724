"""A GroupStore in memory: atomic by nature, strict by contract, judged by the clock that it is given."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from holdfast.failover.group import Group, ReplicaStatus
from holdfast.failover.ports import Beat, Grant, InstanceRow, Look, StoredRequest, Term
from holdfast.failover.roles import Status
from holdfast.kernel import Busy, Conflict, Corrupt, Logged, Versioned, Write
from holdfast.sim.memory import Log

UNLIMITED = 1_000_000


@dataclass
class Stored:
    """One group: its record, the rows beside it, and when it is to be looked at."""

    found: Versioned[Group]
    rows: dict[str, InstanceRow] = field(default_factory=dict)
    terminated: set[str] = field(default_factory=set)
    due_s: float = 0.0
    changed_n: int = 0
    claim: tuple[str, float] = ("", 0.0)

    def copy(self) -> "Stored":
        return replace(self, rows=dict(self.rows), terminated=set(self.terminated))


class MemoryGroups:
    def __init__(self, now_s: Callable[[], float], launches: int = UNLIMITED) -> None:
        self.groups: dict[str, Stored] = {}
        self.requests: dict[tuple[str, str], StoredRequest] = {}
        self.launches: dict[str, int] = {}
        """What is left of each client's launch budget."""
        self.ready_s: dict[str, list[float]] = {}
        self.log = Log()
        self._now_s, self._budget, self._changes = now_s, launches, 0

    def read(self, subject: str) -> Versioned[Group]:
        stored = self.groups.get(subject)
        if stored is not None:
            return stored.found
        client_id, _, agent_id = subject.partition("/")
        return Versioned(Group(client_id=client_id, agent_id=agent_id), self.log.last(subject), "")

    def commit(
        self,
        subject: str,
        found: Versioned[Group],
        write: Write[Group],
        commit_id: str,
        request: StoredRequest | None = None,
    ) -> Versioned[Group]:
        before, group = self.read(subject), write.value
        done = Versioned(group, found.version + 1, commit_id)
        if not self.log.may_write(
            subject, stored=before.version, expected=found.version, commit_id=commit_id
        ):
            return done
        if group.subject != subject:
            raise Corrupt(table="memory", key=subject, attribute="agent_id", problem=f"it is {group.subject}")
        stored = self.groups.get(subject) or Stored(before)
        self._guard(stored, before.value, group)
        if request is not None and (request.client_id, request.request_id) in self.requests:
            raise Conflict(f"request {request.request_id} is answered already")
        self._charge(before.value, group)
        self.log.tell(subject, done.version, commit_id, write)
        if request is not None:
            self.requests[request.client_id, request.request_id] = request
        self._changes += 1
        stored.found, stored.changed_n, stored.due_s = done, self._changes, self._now_s()
        self.groups[subject] = stored
        self._put_rows(stored, before.value, group)
        for event in write.events:
            if "ready_s" in event.numbers:
                self.ready_s.setdefault(event.reason, []).append(event.numbers["ready_s"])
        return done

    def _guard(self, stored: Stored, before: Group, group: Group) -> None:
        """What the schema and the promotion's procedure refuse."""
        back = [m.instance_id for m in group.members if m.instance_id in stored.terminated]
        if back:
            raise Conflict(f"{back[0]} is terminated")
        holder = next((m for m in group.members if m.status is Status.PROMOTING), None)
        if holder is None or before.holder == holder.instance_id:
            return
        if group.takeover is not None and group.takeover.fenced:
            return
        for member in before.members:
            row = stored.rows.get(member.instance_id)
            if row and row.instance_id != holder.instance_id and row.lease_until_s > self._now_s():
                raise Busy(f"the lease of {row.instance_id} still runs")

    def _charge(self, before: Group, group: Group) -> None:
        known = {replica.replica_id for replica in before.replicas}
        new = [r for r in group.replicas if r.replica_id not in known and r.status is ReplicaStatus.LAUNCHING]
        left = self.launches.get(group.client_id, self._budget) - len(new)
        if new and left < 0:
            raise Conflict(f"{group.client_id}: the launch budget is spent")
        self.launches[group.client_id] = left

    def _put_rows(self, stored: Stored, before: Group, group: Group) -> None:
        living = {member.instance_id for member in group.members}
        stored.terminated |= set(stored.rows) - living
        for gone in set(stored.rows) - living:
            del stored.rows[gone]
        for member in group.members:
            row = stored.rows.get(member.instance_id) or InstanceRow(instance_id=member.instance_id)
            stored.rows[member.instance_id] = replace(
                row, epoch=group.epoch, is_primary=member.status.is_primary
            )
        takeover, was = group.takeover, before.takeover
        holder = stored.rows.get(takeover.last_holder) if takeover and takeover.fenced else None
        if holder is not None and not holder.is_primary and not (was and was.fenced):
            stored.rows[holder.instance_id] = replace(holder, lease_until_s=0.0)

    def commit_id_at(self, subject: str, version: int) -> str | None:
        return self.log.commit_id_at(subject, version)

    def events(self, subject: str, after: int = 0) -> Sequence[Logged]:
        return self.log.events(subject, after)

    def request(self, client_id: str, request_id: str) -> StoredRequest | None:
        return self.requests.get((client_id, request_id))

    def renew(self, beats: Sequence[Beat], term: Term) -> Sequence[Grant]:
        return [self._renew(beat, term) for beat in beats]

    def _renew(self, beat: Beat, term: Term) -> Grant:
        stored = self.groups.get(f"{beat.client_id}/{beat.agent_id}")
        row = stored.rows.get(beat.instance_id) if stored else None
        if stored is None or row is None:
            return Grant(instance_id=beat.instance_id, known=False)
        group, now_s = stored.found.value, self._now_s()
        member = group.member(beat.instance_id)
        status = member.status if member else None
        if row.session != beat.session:
            return Grant(instance_id=beat.instance_id, known=True, epoch=row.epoch, status=status)
        row = replace(row, heartbeat_s=now_s, report=beat.report)
        granted_s = 0.0
        if row.is_primary and row.epoch == beat.epoch and beat.may_be_granted:
            granted_s = max(term.granted_s, group.paused_until_s - now_s)
            until_s = now_s + granted_s * (1 + term.clock_rate_margin)
            row = replace(row, lease_until_s=max(row.lease_until_s, until_s))
        stored.rows[beat.instance_id] = row
        return Grant(
            instance_id=beat.instance_id, known=True, session_ok=True, epoch=row.epoch,
            primary=row.is_primary, lease_s=granted_s, status=status, goal_version=stored.found.version,
        )  # fmt: skip

    def look(self, subject: str) -> Look:
        stored, now_s = self.groups.get(subject), self._now_s()
        client_id = subject.partition("/")[0]
        return Look(
            now_s=now_s, rows=tuple(stored.rows.values()) if stored else (),
            launches_left=self.launches.get(client_id, self._budget),
            ready_s={pool: sum(took) / len(took) for pool, took in self.ready_s.items()},
        )  # fmt: skip

    def take_session(self, subject: str, instance_id: str, session: str, boot_id: str) -> float:
        stored = self.groups.get(subject)
        row = stored.rows.get(instance_id) if stored else None
        if stored is None or row is None:
            return 0.0
        left_s = row.lease_until_s - self._now_s()
        if row.session not in ("", session) and row.boot_id != boot_id and left_s > 0:
            return left_s
        stored.rows[instance_id] = replace(row, session=session, boot_id=boot_id)
        return 0.0

    def clock_s(self) -> float:
        return self._now_s()

    def newest_heartbeat_s(self) -> float:
        stamps = (row.heartbeat_s for stored in self.groups.values() for row in stored.rows.values())
        return max(stamps, default=0.0)

    def due(self, limit: int) -> Sequence[str]:
        now_s = self._now_s()
        return [subject for subject, stored in self.groups.items() if self._is_due(stored, now_s)][:limit]

    def _is_due(self, stored: Stored, now_s: float) -> bool:
        holder = stored.found.value.holder
        lost = holder is None or stored.rows[holder].lease_until_s <= now_s
        return stored.due_s <= now_s or lost

    def set_due(self, subject: str, version: int, after_s: float) -> None:
        stored = self.groups.get(subject)
        if stored is not None and stored.found.version == version:
            stored.due_s = self._now_s() + after_s

    def claim(self, subject: str, driver: str, for_s: float) -> bool:
        stored, now_s = self.groups.get(subject), self._now_s()
        if stored is None or (stored.claim[0] != driver and stored.claim[1] > now_s):
            return stored is None
        stored.claim = (driver, now_s + for_s)
        return True

    def changed(self, after_n: int) -> Sequence[tuple[str, int]]:
        found = [(s, stored.changed_n) for s, stored in self.groups.items() if stored.changed_n > after_n]
        return sorted(found, key=lambda each: each[1])

    def backup(self) -> Mapping[str, Stored]:
        """All groups as they are: what a restore would bring back."""
        return {subject: stored.copy() for subject, stored in self.groups.items()}

    def restore(self, groups: Mapping[str, Stored]) -> None:
        """The database is what it was then; what was told since is told no more."""
        self.groups = {subject: stored.copy() for subject, stored in groups.items()}
        for subject, told in self.log.by_subject.items():
            version = self.groups[subject].found.version if subject in self.groups else 0
            for place in [place for place in told if place[0] > version]:
                del told[place]
