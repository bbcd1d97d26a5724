"""What the commands that only look have in common: record, rows and counts, none of them changed."""

import os
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from holdfast.kernel import Busy, Invalid

if TYPE_CHECKING:
    from holdfast.app.leases import OpenStore
    from holdfast.leases.report import Status
    from holdfast.leases.rows import Rows, WorkerRow
    from holdfast.leases.settings import Settings

EVENTS_SPAN = 50
"""Versions that are read for why the agreement last changed: each restart of a KCL since then is two."""
BEATS: Final = 1.5
"""So many times between two beats are long enough to see one of every living worker."""


class Lookout:
    """Looks again and again, and remembers whose beat moved."""

    def __init__(self, settings: "Settings", opened: "OpenStore") -> None:
        from holdfast.app.leases import worker_ports

        self.settings, self.store = settings, opened.store
        self.ports = worker_ports(settings, opened.store, os.environ)
        self._before: Rows | None = None
        self._began_s = 0.0
        self._moved_s: dict[str, float] = {}
        """When each beat was last seen to have moved, on our own clock."""

    def look(self) -> "Status":
        """One look.  What cannot be counted is told beside what can be read."""
        from holdfast.leases.cap import coordinator
        from holdfast.leases.report import status
        from holdfast.leases.worker.counting import count

        subject = coordinator(self.settings.app_name)
        found = self.store.read(subject)
        rows = self.store.rows()
        counted = None
        problems: tuple[str, ...] = ()
        try:
            counted = count(self.ports)
        except (Busy, Invalid) as error:
            problems = (str(error),)
        return status(
            found,
            rows,
            self.settings,
            counted=counted,
            problems=problems,
            events=self.store.events(subject, max(0, found.version - EVENTS_SPAN)),
            living=self._living(rows),
        )

    def _living(self, rows: "Rows") -> Collection[str] | None:
        """Whose beat was seen to move lately; None as long as a living worker may not have beaten yet."""
        now_s, before = self.ports.mono_s(), self._before
        self._before = rows
        if before is None:
            self._began_s = now_s
            return None
        moved = {key: now_s for key, row in rows.own.items() if _has_moved(before.own.get(key), row)}
        self._moved_s |= moved
        if now_s - self._began_s < BEATS * self.settings.heartbeat_s:
            return None
        ttl_s = self.settings.member_ttl_s
        return {key for key, at_s in self._moved_s.items() if key in rows.own and now_s - at_s < ttl_s}


def _has_moved(before: "WorkerRow | None", now: "WorkerRow") -> bool:
    return before is None or (before.incarnation, before.heartbeat) != (now.incarnation, now.heartbeat)
