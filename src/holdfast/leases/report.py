"""The state of an app's workers, for people and scripts: what is agreed, in force, and unread."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from holdfast.kernel import Logged, Versioned
from holdfast.leases.alarm import leases_to_hold, unread_now, workers_needed
from holdfast.leases.cap import Cap, View, tell_of_an_agreement
from holdfast.leases.ports import NotKnown
from holdfast.leases.restart import holder
from holdfast.leases.rows import Rows, WorkerRow
from holdfast.leases.settings import Settings
from holdfast.leases.told import told_leases
from holdfast.leases.worker.counting import Counted

START_ONLY, BEHIND, AGREED, DEAD = "start-only", "behind", "agreed", "dead"


@dataclass(frozen=True, slots=True)
class WorkerLine:
    """One worker, as its row says."""

    worker_id: str
    state: str
    """`agreed`: it has seen the last agreement.  `behind`: not yet, or it is dead.  `dead`: its beat did not
    move.  `start-only`: it never beats."""
    max_leases_per_worker: int
    told: int | None
    holds: int | None
    heartbeat: int
    shard_count: int
    worker_count: int
    last_update_time: str


@dataclass(frozen=True, slots=True)
class Change:
    """Why the agreement last changed."""

    at_s: float
    kind: str
    about: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    app: str
    stream: str
    agreed: int | None
    """None: nothing is agreed yet."""
    shard_count: int | None
    worker_count: int | None
    version: int
    shards: int | None
    """Counted now; None: it could not be."""
    lease_rows: int
    expected_workers: int | None
    told: int | None
    """What a KCL would be told now."""
    unread: int
    workers_needed: int
    restarting: str
    """The worker whose turn it is to restart its KCL; empty: none, or one that was seen to be dead."""
    watched: bool
    """Whether it was looked for long enough to tell the living from the dead."""
    workers: tuple[WorkerLine, ...]
    problems: tuple[str, ...]
    change: Change | None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def status(
    found: Versioned[Cap],
    rows: Rows,
    settings: Settings,
    *,
    counted: Counted | None,
    problems: Sequence[str] = (),
    events: Sequence[Logged] = (),
    living: Collection[str] | None = None,
) -> Status:
    """`living`: the keys of rows that were seen to move; None: one look was taken, which cannot tell."""
    cap, view = found.value, found.value.view
    lines = tuple(_line(row, cap, living) for row in rows.own.values())
    alive = [row for row in rows.own.values() if living is None or row.key in living or not row.beats]
    lease_rows = counted.lease_table.rows if counted else 0
    expected = counted.expected if counted else None
    not_known = (expected.why,) if isinstance(expected, NotKnown) else ()
    unread, needed = _alarm(cap, view, lease_rows, alive, watched=living is not None)
    return Status(
        app=settings.app_name,
        stream=settings.stream_name,
        agreed=cap.max_leases_per_worker if view else None,
        shard_count=view.shards if view else None,
        worker_count=view.workers if view else None,
        version=found.version,
        shards=counted.shards if counted else None,
        lease_rows=lease_rows,
        expected_workers=expected if isinstance(expected, int) else None,
        told=_told(view, lease_rows, settings),
        unread=unread,
        workers_needed=needed,
        restarting=_restarting(cap, rows, living),
        watched=living is not None,
        workers=lines,
        problems=(*rows.problems, *not_known, *problems),
        change=_change(events),
    )


def _restarting(cap: Cap, rows: Rows, living: Collection[str] | None) -> str:
    """A holder that is gone, or is another process by now, holds nothing: the next one takes its turn."""
    key = cap.restarting.partition("#")[0]
    row = rows.own.get(key)
    if row is None or holder(row) != cap.restarting or (living is not None and key not in living):
        return ""
    return key


def _line(row: WorkerRow, cap: Cap, living: Collection[str] | None) -> WorkerLine:
    if not row.beats:
        state = START_ONLY
    elif living is not None and row.key not in living:
        state = DEAD
    else:
        state = AGREED if row.agreement == cap.agreement else BEHIND
    return WorkerLine(
        worker_id=row.key,
        state=state,
        max_leases_per_worker=row.max_leases_per_worker,
        told=row.told,
        holds=row.holds,
        heartbeat=row.heartbeat,
        shard_count=row.view.shards,
        worker_count=row.view.workers,
        last_update_time=row.last_update_time,
    )


def _alarm(
    cap: Cap, view: View | None, lease_rows: int, alive: list[WorkerRow], *, watched: bool
) -> tuple[int, int]:
    """What the record says; and what was seen, where it was looked for long enough to see who lives."""
    if view is None:
        return 0, 1
    needed = workers_needed(leases_to_hold(view.shards, lease_rows, alive), view.limit)
    said = max(cap.unread, view.unread)
    return (max(said, unread_now(view, lease_rows, alive)) if watched else said), needed


def _told(view: View | None, lease_rows: int, settings: Settings) -> int | None:
    headroom = settings.lease_headroom_workers
    return told_leases(view, lease_rows=lease_rows, headroom_workers=headroom) if view else None


def _change(events: Sequence[Logged]) -> Change | None:
    """Alarms and turns stand beside the agreement, and are shown by themselves."""
    every = [logged.event for logged in events]
    event = next((event for event in reversed(every) if tell_of_an_agreement([event])), None)
    return Change(event.at_s, str(event.kind), event.about, event.reason) if event else None
