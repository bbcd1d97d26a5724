"""A stream and its workers' owner, as the agreement sees them, and the table behind a gate."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from holdfast.kernel import Busy, Logged, Repository, Unknown, Versioned, Write
from holdfast.leases.cap import Cap
from holdfast.leases.lease_rows import Lease
from holdfast.leases.ports import CapStore, NotKnown, WriteRow
from holdfast.leases.rows import Rows, WorkerRow
from holdfast.sim.gate import Gate, Kind

LAGS = 6
"""So many states of the table ago a stale scan may be."""


@dataclass
class SimStream:
    """A stream whose shards are listed late at times, and the owner of its workers."""

    shards: int
    before: int
    expected: int
    known: bool = True
    """Whether the workers' owner answers."""
    past: deque[Rows] = field(default_factory=lambda: deque(maxlen=LAGS))
    """What the table was like before its last changes."""
    written_s: dict[str, float] = field(default_factory=dict)
    """When each row was written last."""
    looked_s: float = 0.0
    """When the process that commits now looked at the rows."""
    shown: frozenset[str] = frozenset()
    """Whose rows it was shown: an old look lacks those who have joined since."""


class GatedCaps:
    """A CapStore behind a gate, whose commits go through another that judges them."""

    def __init__(
        self,
        caps: CapStore,
        judged: Repository[Cap],
        gate: Gate,
        stream: SimStream,
        now_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._caps, self._judged, self._gate, self._stream = caps, judged, gate, stream
        self._now_s, self._looked_s = now_s, 0.0
        self._shown: frozenset[str] = frozenset()

    def read(self, subject: str) -> Versioned[Cap]:
        return self._gate.call("read", Kind.READ, lambda: self._judged.read(subject))

    def commit(
        self, subject: str, found: Versioned[Cap], write: Write[Cap], commit_id: str
    ) -> Versioned[Cap]:
        def run() -> Versioned[Cap]:
            self._stream.looked_s, self._stream.shown = self._looked_s, self._shown
            return self._judged.commit(subject, found, write, commit_id)

        return self._gate.call(f"commit {write.events[0].kind}", Kind.CHANGE, run)

    def commit_id_at(self, subject: str, version: int) -> str | None:
        name = "read commit id"
        return self._gate.call(name, Kind.READ, lambda: self._judged.commit_id_at(subject, version))

    def events(self, subject: str, after: int = 0) -> Sequence[Logged]:
        return self._judged.events(subject, after)

    def rows(self) -> Rows:
        self._looked_s = self._now_s()
        found = self._gate.call("scan", Kind.LOOK, self._caps.rows, self._stale)
        self._shown = frozenset(found.own)
        return found

    def _stale(self) -> Rows:
        return self._stream.past[0] if self._stream.past else self._caps.rows()

    def write_row(self, effect: WriteRow, at_s: float) -> None:
        name = f"write row {effect.row.key}"

        def write() -> None:
            self._caps.write_row(effect, at_s)
            self._stream.written_s[effect.row.key] = at_s

        self._changing(name, write)

    def delete_row(self, row: WorkerRow) -> None:
        self._changing(f"delete row {row.key}", lambda: self._caps.delete_row(row))

    def _changing(self, name: str, change: Callable[[], None]) -> None:
        def run() -> None:
            self._stream.past.append(self._caps.rows())
            change()

        self._gate.call(name, Kind.CHANGE, run)


class GatedCounts:
    """ShardCount, LeaseRows and ExpectedWorkers of one process.  A look that failed changed nothing."""

    def __init__(self, stream: SimStream, gate: Gate) -> None:
        self._stream, self._gate = stream, gate

    def open_shards(self) -> int:
        stream = self._stream
        try:
            return self._gate.call("count shards", Kind.LOOK, lambda: stream.shards, lambda: stream.before)
        except Unknown as unknown:
            raise Busy(str(unknown)) from unknown

    def leases(self) -> Sequence[Lease]:
        return ()

    def expected(self) -> int | NotKnown:
        return self._stream.expected if self._stream.known else NotKnown("the owner does not answer")
