"""Repositories in memory, for the simulated world: atomic by nature, strict by contract."""

from collections.abc import Mapping, Sequence
from operator import is_
from typing import Any, Generic, TypeVar

from holdfast.kernel import Conflict, Logged, Versioned, Write
from holdfast.kernel.item import Codec, load_version
from holdfast.leases import cap as cap_codec
from holdfast.leases import rows as row_codec
from holdfast.leases.cap import Cap
from holdfast.leases.ports import WriteRow
from holdfast.leases.rows import Rows, WorkerRow
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
        self._behind: set[str] = set()
        """Records that were found behind their log, as one is that was restored to an earlier point."""

    def read(self, subject: str) -> Versioned[Record]:
        item = self.items.get(subject, NO_ITEM)
        before, found = self._loaded.get(subject, (None, None))
        if found is None or before is not item or item is NO_ITEM:
            value = self._codec.load(item, table=self._table, key=subject)
            commit_id, stored = str(item.get("commitId", "")), self._version(subject)
            last = self.log.last(subject) if subject in self._behind else stored
            restored_from = stored if last > stored else None
            guarded = self._guarded_attributes(subject)
            found = Versioned(value, max(stored, last), commit_id, guarded, restored_from)
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
        if found.restored_from is not None and found.restored_from == stored:
            stored = self.log.last(subject)
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
        self._tell(subject, version, commit_id, write)
        self.items[subject] = item
        done = Versioned(write.value, version, commit_id, self._guarded_attributes(subject))
        self._loaded[subject] = (item, done)
        return done

    def _tell(self, subject: str, version: int, commit_id: str, write: Write[Record]) -> None:
        try:
            self.log.tell(subject, version, commit_id, write)
        except Conflict:
            self._behind.add(subject)
            self._loaded.pop(subject, None)
            raise

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

    def __init__(
        self, limits: ItemLimits | None = None, *, app_name: str = "my-app", stream_name: str = "stream"
    ) -> None:
        super().__init__(cap_codec.CODEC, limits=limits)
        self._named = {"app_name": app_name, "stream_name": stream_name}
        self.worker_items: dict[str, Mapping[str, Any]] = {}
        self._looked: tuple[tuple[Mapping[str, Any], ...], Rows] = ((), Rows({}, {}))

    def rows(self) -> Rows:
        items = (*self.worker_items.values(), *self.items.values())
        if len(items) == len(self._looked[0]) and all(map(is_, items, self._looked[0])):
            return self._looked[1]  # an item is replaced, never changed in place
        agreed = {subject: {**self._named, **item} for subject, item in self.items.items()}
        found = row_codec.read_rows(
            [*agreed.items(), *sorted(self.worker_items.items())], table="memory", **self._named
        )
        self._looked = (items, found)
        return found

    def write_row(self, effect: WriteRow, at_s: float) -> None:
        row, stands = effect.row, self.worker_items.get(effect.row.key)
        found = None if stands is None else stands.get("incarnation", "")
        own = row.beats and found == row.incarnation
        if stands is not None and self._named.items() - stands.items():
            raise Conflict(f"{row.key}: another's row stands there")
        if (own and stands is not None and stands.get("heartbeat", 0) >= row.heartbeat) or (
            not own and found not in (effect.over, row.incarnation)
        ):
            raise Conflict(f"{row.key}: another row stands there")
        self.worker_items[row.key] = {
            **self._named,
            "last_update_time": f"{at_s:.3f}",
            **row_codec.encode(row),
        }

    def delete_row(self, row: WorkerRow) -> None:
        stands = self.worker_items.get(row.key)
        if stands is not None:
            if stands.get("incarnation", "") != row.incarnation or self._named.items() - stands.items():
                raise Conflict(f"{row.key}: another row stands there")
            del self.worker_items[row.key]
