"""A few workers on one table in memory, each call of theirs through a gate, on a clock set by hand."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from holdfast.kernel import Busy, Conflict, Logged, Unknown, Versioned, Write
from holdfast.leases.cap import Cap, View, coordinator
from holdfast.leases.lease_rows import Lease
from holdfast.leases.ports import NotKnown
from holdfast.leases.rows import Rows
from holdfast.leases.settings import Settings
from holdfast.leases.worker.counting import WorkerPorts
from holdfast.leases.worker.live import LiveWorker
from holdfast.leases.worker.start import StartWorker
from holdfast.sim.gate import Crash, Gate
from holdfast.sim.memory import MemoryCaps
from holdfast.sim.stream import GatedCaps, SimStream
from holdfast.testing.choices import Choose

APP, STREAM = "my-app", "orders"
SUBJECT = coordinator(APP)
SETTINGS = Settings(
    app_name=APP, stream_name=STREAM, worker_id="worker-1", kds_worker_count=3, join_grace_s=60.0
)


class HandClock:
    """Both clocks of every worker."""

    def __init__(self) -> None:
        self.mono = 0.0

    def now_s(self) -> float:
        return 1_763_546_400.0 + self.mono

    def mono_s(self) -> float:
        return self.mono

    def sleep(self, seconds: float) -> None:
        self.mono += seconds


class Counts:
    """What one worker is told when it counts."""

    def __init__(self, stream: SimStream, gate: Gate) -> None:
        from holdfast.sim.stream import GatedCounts

        self._gated, self.lease_rows = GatedCounts(stream, gate), list[Lease]()

    def open_shards(self) -> int:
        return self._gated.open_shards()

    def leases(self) -> Sequence[Lease]:
        return self.lease_rows

    def expected(self) -> int | NotKnown:
        return self._gated.expected()


class Fleet:
    """Workers by id.  `live` and `start` may be broken variants."""

    def __init__(
        self,
        gate: Gate,
        *,
        shards: int = 30,
        expected: int = 3,
        live: Callable[..., LiveWorker] = LiveWorker,
        start: Callable[..., StartWorker] = StartWorker,
        settings: Settings = SETTINGS,
    ) -> None:
        self.gate, self.live, self.start_worker, self.settings = gate, live, start, settings
        self.clock, self.ids = HandClock(), (f"id-{n}" for n in count())
        self.caps = MemoryCaps(app_name=settings.app_name, stream_name=settings.stream_name)
        self.stream = SimStream(shards, shards, expected)
        self.workers: dict[str, LiveWorker] = {}
        self.lines: list[str] = []

    def ports(self) -> WorkerPorts:
        counts = Counts(self.stream, self.gate)
        return WorkerPorts(
            store=GatedCaps(self.caps, self.caps, self.gate, self.stream),
            shards=counts,
            leases=counts,
            expected=counts,
            clock=self.clock,
            mono_s=self.clock.mono_s,
            new_id=lambda: next(self.ids),
            random=lambda: 1.0,
        )

    def join(self, worker_id: str, **changed: Any) -> LiveWorker:
        settings = replace(self.settings, worker_id=worker_id, **changed)
        self.workers[worker_id] = self.live(self.ports(), settings)
        return self.workers[worker_id]

    def start(self, worker_id: str, **changed: Any) -> Cap:
        settings = replace(self.settings, worker_id=worker_id, **changed)
        return self.start_worker(self.ports(), settings, say=lambda line: self.lines.append(str(line))).run()

    def pulse(self, worker_id: str) -> bool:
        """One pulse; whether it went well.  A worker that dies is started anew, with an empty memory."""
        try:
            self.workers[worker_id].pulse()
        except (Busy, Unknown, Conflict):
            return False
        except Crash:
            self.join(worker_id)
            return False
        return True

    def beat(self, times: int = 1, passed_s: float | None = None) -> None:
        """Every worker's next beats."""
        for _ in range(times):
            self.clock.mono += self.settings.heartbeat_s if passed_s is None else passed_s
            for worker_id in list(self.workers):
                self.pulse(worker_id)

    @property
    def cap(self) -> Cap:
        return self.caps.read(SUBJECT).value

    @property
    def agreed(self) -> View | None:
        return self.cap.view

    @property
    def version(self) -> int:
        return self.caps.read(SUBJECT).version

    def rows(self) -> Rows:
        return self.caps.rows()

    def in_force(self) -> dict[str, int]:
        return {key: row.max_leases_per_worker for key, row in self.rows().own.items()}

    def told(self) -> list[str]:
        return [str(logged.event.kind) for logged in self.caps.events(SUBJECT)]

    def events(self) -> Sequence[Logged]:
        return self.caps.events(SUBJECT)


__all__ = ["APP", "SETTINGS", "STREAM", "SUBJECT", "Choose", "Fleet", "Versioned", "Write"]
