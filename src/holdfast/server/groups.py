"""Groups as this server last read them: a goal follows from the record, and need not be read twice."""

import threading
from typing import Final

from holdfast.failover.group import Group
from holdfast.failover.ports import GroupStore
from holdfast.kernel import Versioned

KEPT_MAX: Final = 50_000


class Groups:
    """By subject, with the version that was read.  Never older than what the caller has heard of."""

    def __init__(self, store: GroupStore) -> None:
        self._store = store
        self._kept: dict[str, Versioned[Group]] = {}
        self._lock = threading.Lock()

    def kept(self, subject: str, at_least: int) -> Versioned[Group] | None:
        """Without asking the database; None if it must be asked."""
        found = self._kept.get(subject)
        return found if found is not None and found.version >= at_least else None

    def read(self, subject: str) -> Versioned[Group]:
        return self.keep(subject, self._store.read(subject))

    def keep(self, subject: str, found: Versioned[Group]) -> Versioned[Group]:
        with self._lock:
            if len(self._kept) >= KEPT_MAX:
                self._kept.clear()
            self._kept[subject] = found
        return found

    def forget(self, subject: str) -> None:
        with self._lock:
            self._kept.pop(subject, None)
