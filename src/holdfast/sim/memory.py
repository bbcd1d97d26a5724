"""Repositories in memory, for the simulated world: atomic by nature, strict by contract."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from holdfast.failover.group import Group
from holdfast.failover.ports import Grant, Heartbeat, Term
from holdfast.kernel import Conflict, Corrupt, Logged, Versioned, Write
from holdfast.kernel.item import Codec, load_version
from holdfast.leases import cap as cap_codec
from holdfast.leases.cap import Cap, View
from holdfast.sim.limits import ItemLimits

Record = TypeVar("Record")
NO_ITEM: Mapping[str, Any] = {}


class Log:
    """Events by subject, and the one rule that all in-memory stores share."""

    def __init__(self) -> None:
        self.by_subject: dict[str, dict[tuple[int, int], Logged]] = {}

    def tell(self, subject: str, version: int, commit_id: str, write: Write[Any]) -> None:
        told = self.by_subject.setdefault(subject, {})
        if (version, 0) in told:
            raise Conflict(f"{subject}: version {version} is told already")
        for n, event in enumerate(write.events):
            told[version, n] = Logged(subject, version, n, commit_id, event)

    def commit_id_at(self, subject: str, version: int) -> str | None:
        logged = self.by_subject.get(subject, {}).get((version, 0))
        return logged.commit_id if logged else None

    def last(self, subject: str) -> int:
        return max((version for version, _ in self.by_subject.get(subject, {})), default=0)

    def events(self, subject: str, after: int) -> list[Logged]:
        told = self.by_subject.get(subject, {})
        return [told[place] for place in sorted(told) if place[0] > after]

    def may_write(self, subject: str, *, stored: int, expected: int, commit_id: str) -> bool:
        """False if this very commit stands already; raises Conflict if another's does."""
        if stored == expected:
            return True
        if self.commit_id_at(subject, expected + 1) == commit_id:
            return False
        raise Conflict(f"{subject}: version {stored} is stored, not {expected}")


class MemoryItems(Generic[Record]):
    """A repository of one codec's records."""

    def __init__(self, codec: Codec[Record], table: str = "memory", limits: ItemLimits | None = None) -> None:
        self.items: dict[str, Mapping[str, Any]] = {}
        """An item is replaced, never changed in place: what was loaded from it stays true."""
        self.log = Log()
        self._codec, self._table, self._limits = codec, table, limits
        self._loaded: dict[str, tuple[Mapping[str, Any], Versioned[Record]]] = {}

    def read(self, subject: str) -> Versioned[Record]:
        item = self.items.get(subject, NO_ITEM)
        before, found = self._loaded.get(subject, (None, None))
        if found is None or before is not item or item is NO_ITEM:
            value = self._codec.load(item, table=self._table, key=subject)
            commit_id = str(item.get("commitId", ""))
            found = Versioned(value, self._version(subject), commit_id, self._guarded_attributes(subject))
            self._loaded[subject] = (item, found)
        return found

    def commit(
        self, subject: str, found: Versioned[Record], write: Write[Record], commit_id: str
    ) -> Versioned[Record]:
        if self._limits is None:
            return self._commit(subject, found, write, commit_id)
        self._limits.collide(subject)
        request = (found.version, write)
        done: Versioned[Record] | None = self._limits.recall(commit_id, request)
        if done is None:
            done = self._commit(subject, found, write, commit_id)
            self._limits.remember(commit_id, request, done)
        return done

    def _commit(
        self, subject: str, found: Versioned[Record], write: Write[Record], commit_id: str
    ) -> Versioned[Record]:
        version = found.version + 1
        stored = self._version(subject)
        if not self.log.may_write(subject, stored=stored, expected=found.version, commit_id=commit_id):
            return Versioned(write.value, version, commit_id, self._guarded_attributes(subject))
        if found.guarded_attributes and found.guarded_attributes != self._guarded_attributes(subject):
            raise Conflict(f"{subject}: changed by something that knows no versions")
        before = self.items.get(subject, NO_ITEM)
        foreign = {name: value for name, value in before.items() if name not in self._codec.names}
        ours = {**self._codec.encode(write.value), "version": version, "commitId": commit_id}
        item = {**foreign, **ours}
        if self._limits is not None:
            self._limits.charge(subject, item, len(write.events))
        self.log.tell(subject, version, commit_id, write)
        self.items[subject] = item
        done = Versioned(write.value, version, commit_id, self._guarded_attributes(subject))
        self._loaded[subject] = (item, done)
        return done

    def commit_id_at(self, subject: str, version: int) -> str | None:
        return self.log.commit_id_at(subject, version)

    def events(self, subject: str, after: int = 0) -> Sequence[Logged]:
        return self.log.events(subject, after)

    def _version(self, subject: str) -> int:
        item = self.items.get(subject, NO_ITEM)
        if "version" not in item:
            return self.log.last(subject)
        return load_version(item, table=self._table, key=subject)

    def _guarded_attributes(self, subject: str) -> dict[str, object]:
        item = self.items.get(subject, NO_ITEM)
        return {name: item.get(name) for name in ("version", *self._codec.guarded_attributes)}


class MemoryCaps(MemoryItems[Cap]):
    """A CapStore in memory."""

    def __init__(self, limits: ItemLimits | None = None) -> None:
        super().__init__(cap_codec.CODEC, limits=limits)
        self._workers: dict[str, dict[str, int]] = {}

    def save_worker(self, app_name: str, worker_id: str, view: View, at_s: float) -> None:
        worker = cap_codec.worker_subject(app_name, worker_id)
        self._workers.setdefault(app_name, {})[worker] = view.max_leases_per_worker

    def workers(self, app_name: str) -> dict[str, int]:
        return dict(self._workers.get(app_name, {}))


class MemoryGroups:
    """A GroupStore in memory; leases are judged by the clock that it is given."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self.groups: dict[str, Versioned[Group]] = {}
        self.leases: dict[tuple[str, str], float] = {}
        self.log = Log()
        self._now_s = now_s

    def read(self, agent_id: str) -> Versioned[Group]:
        found = self.groups.get(agent_id)
        return found or Versioned(Group(agent_id=agent_id), self.log.last(agent_id), "")

    def commit(
        self, agent_id: str, found: Versioned[Group], write: Write[Group], commit_id: str
    ) -> Versioned[Group]:
        stored = self.read(agent_id).version
        done = Versioned(write.value, found.version + 1, commit_id)
        if self.log.may_write(agent_id, stored=stored, expected=found.version, commit_id=commit_id):
            if write.value.agent_id != agent_id:
                problem = f"the group of {write.value.agent_id}"
                raise Corrupt(table="memory", key=agent_id, attribute="agent_id", problem=problem)
            self.log.tell(agent_id, done.version, commit_id, write)
            self.groups[agent_id] = done
            living = {member.instance_id for member in write.value.members}
            self.leases = {
                k: until_s for k, until_s in self.leases.items() if k[0] != agent_id or k[1] in living
            }
        return done

    def commit_id_at(self, agent_id: str, version: int) -> str | None:
        return self.log.commit_id_at(agent_id, version)

    def events(self, agent_id: str, after: int = 0) -> Sequence[Logged]:
        return self.log.events(agent_id, after)

    def renew(self, heartbeats: Sequence[Heartbeat], term: Term) -> Sequence[Grant]:
        answers = []
        for beat in heartbeats:
            group = self.read(beat.agent_id).value
            primary = group.primary == beat.instance_id
            if primary and group.epoch == beat.epoch:
                self.leases[beat.agent_id, beat.instance_id] = self._now_s() + term.kept_s
                answers.append(Grant(beat.instance_id, group.epoch, True, term.granted_s))
            else:
                answers.append(Grant(beat.instance_id, group.epoch, primary, 0.0))
        return answers

    def leases_left_s(self, agent_id: str) -> Mapping[str, float]:
        now_s = self._now_s()
        return {
            instance_id: max(0.0, until_s - now_s)
            for (agent, instance_id), until_s in self.leases.items()
            if agent == agent_id
        }
