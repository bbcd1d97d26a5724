"""Orders out of the live cap: which number a command is told, and when it is started anew.

After each pulse, in the thread of the live cap, the next move is decided and the lock in the record taken or
given back.  The supervisor's own thread only asks what is ordered.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Final

from holdfast.kernel import Busy, Conflict, HoldfastError, Invalid, Unknown, Write
from holdfast.leases import restart
from holdfast.leases.alarm import unread_now
from holdfast.leases.cap import Cap, coordinator
from holdfast.leases.supervision import Move, Situation, next_move
from holdfast.leases.told import told_leases
from holdfast.leases.worker.live import LiveWorker
from holdfast.stream.live import LiveCap
from holdfast.stream.metrics import numbers

LOG: Final = logging.getLogger("holdfast.stream")


class CapOrders:
    """See `holdfast.stream.supervise.supervisor.Orders`.  Safe to share between the two threads."""

    def __init__(self) -> None:
        self.numbers: Mapping[str, int] = {}
        """Of the last pulse, for Prometheus."""
        self._turn = threading.Lock()
        self._told: int | None = None
        self._running: int | None = None
        self._ordered: int | None = None
        self._started = False
        """Since the last order."""
        self._up_since_s: float | None = None
        self._unread_since_s: float | None = None
        self._live: LiveCap | None = None
        self._joining: threading.Thread | None = None
        self._failed: HoldfastError | None = None

    def join(self, make: Callable[[], LiveCap]) -> None:
        """Make it and let it join, in a thread of its own: signals are heard meanwhile."""
        self._joining = threading.Thread(target=self._join, args=(make,), name="holdfast-join", daemon=True)
        self._joining.start()

    def _join(self, make: Callable[[], LiveCap]) -> None:
        try:
            live = make()
            live.start()
            self._live = live
        except HoldfastError as error:
            self._failed = error
        except BaseException as error:
            self._failed = Invalid(f"a defect: {error!r}")
            raise

    def leave(self) -> None:
        """The row is deleted, so that others need not wait until it is dead.  Twice is once."""
        if self._joining is not None and self.first() is not None:
            self._joining.join()  # it has its cap, and so is about to have joined
        if self._live is None:
            return
        try:
            self._live.stop()
        except HoldfastError as error:
            LOG.warning("the row stays until it is dead: %s", error)

    def first(self) -> int | None:
        with self._turn:
            return self._told

    def next(self) -> int | None:
        with self._turn:
            return None if self._started else self._ordered

    def started(self, max_leases: int) -> None:
        with self._turn:
            self._running = max_leases
            self._started = True

    def problem(self) -> HoldfastError | None:
        live = self._live
        if self._failed is None and live is not None and live.stopped:
            return live.error
        return self._failed

    def pulsed(self, worker: LiveWorker) -> None:
        """One look more: see `LiveCap.on_pulse`."""
        self.numbers = numbers(worker)
        found, own = worker.found, worker.row
        if found is None or found.value.view is None or own is None:
            return
        with self._turn:
            now = self._situation(worker, found.value)
            worker.told = self._running
        settings = worker.settings
        settle_s = max(settings.restart_settle_s, 2 * settings.heartbeat_s)
        move = next_move(now, steady_s=settings.heartbeat_s, settle_s=settle_s)
        why = f"told {now.running}, would be told {now.told}"
        at_s = worker.ports.clock.now_s()
        if move is Move.RESTART:
            with self._turn:
                self._ordered, self._started, self._up_since_s = now.told, False, None
        elif move is Move.TAKE_TURN:
            self._commit(worker, restart.take(found.value, own, worker.living, why, at_s))
        elif move is Move.END_TURN:
            with self._turn:
                self._ordered, self._up_since_s = None, None
            self._commit(worker, restart.release(found.value, own, f"told {now.running}", at_s))

    def _situation(self, worker: LiveWorker, cap: Cap) -> Situation:
        assert cap.view is not None
        assert worker.row is not None
        rows = worker.counted.lease_table.rows if worker.counted else 0
        mono_s = worker.ports.mono_s()
        headroom = worker.settings.lease_headroom_workers
        self._told = told_leases(cap.view, lease_rows=rows, headroom_workers=headroom)
        if self._started and self._up_since_s is None:
            self._up_since_s = mono_s
        if not unread_now(cap.view, rows, worker.living):
            self._unread_since_s = None
        elif self._unread_since_s is None:
            self._unread_since_s = mono_s
        since_s, up_s = self._unread_since_s, self._up_since_s
        return Situation(
            running=self._running,
            told=self._told,
            unread_for_s=None if since_s is None else mono_s - since_s,
            has_turn=restart.holds(cap, worker.row),
            ordered=self._ordered is not None,
            up_for_s=None if up_s is None else mono_s - up_s,
        )

    def _commit(self, worker: LiveWorker, write: Write[Cap] | None) -> None:
        """A refused or lost write is decided anew after the next pulse, which reads the record."""
        if write is None or worker.found is None:
            return
        ports = worker.ports
        try:
            ports.store.commit(coordinator(worker.settings.app_name), worker.found, write, ports.new_id())
        except (Conflict, Busy, Unknown) as error:
            LOG.info("the turn to restart: %s", error)
