"""The live cap: a thread beats on the worker's row, and keeps the cap of this process as it is agreed.

with LiveCap(on_change=print) as cap:
    consume(max_leases=lambda: cap.max_leases)
"""

import logging
import os
import threading
from collections.abc import Callable, Mapping
from typing import Final, Self

from holdfast.app.leases import open_store, worker_ports
from holdfast.kernel import Busy, HoldfastError, Invalid, Unknown
from holdfast.leases.cap import Cap
from holdfast.leases.settings import Settings
from holdfast.leases.worker.live import LiveWorker, Superseded
from holdfast.stream.given import refuse_disabled, settings_of

LOG: Final = logging.getLogger("holdfast.stream")
IN_VAIN: Final = 0.2
"""Of the time between two beats: after a pulse that was in vain the next one comes so soon."""


class LiveCap:
    """Joins in `start`, leaves in `stop`; in between `max_leases` is what is agreed.

    A worker whose id another process takes over stops by itself: `error` says why.
    """

    def __init__(
        self,
        region: str = "",
        stream_name: str = "",
        app_name: str = "",
        worker_id: str = "",
        *,
        on_change: Callable[[int], None] = lambda max_leases: None,
        on_pulse: Callable[[LiveWorker], None] = lambda worker: None,
        environ: Mapping[str, str] = os.environ,
        settings: Settings | None = None,
    ) -> None:
        """`on_change` is called with each new cap, `on_pulse` after each pulse, both from the thread.

        What they raise is logged, and beats go on.

        Raises InvalidSettings, or Invalid for a worker id that cannot be a row's, and where
        ENABLE_DYNAMIC_MAX_LEASES says no.
        """
        self.settings = settings or settings_of(
            environ, region=region, stream_name=stream_name, app_name=app_name, worker_id=worker_id
        )
        refuse_disabled(self.settings)
        self.max_leases = 0
        """What is in force now; 0 before `start` has returned."""
        self.error: HoldfastError | None = None
        """Why the last pulse failed, or why this worker has stopped; None: all is well."""
        self._on_change, self._on_pulse = on_change, on_pulse
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="holdfast-live-cap", daemon=True)
        self._opened = open_store(self.settings, environ, create_tables=True)
        try:
            ports = worker_ports(self.settings, self._opened.store, environ)
            self.worker = LiveWorker(ports, self.settings, apply=self._apply)
        except BaseException:
            self._opened.close()
            raise
        self._warned: tuple[str, ...] = ()

    def start(self) -> int:
        """Join, and return the agreed cap.  Raises Invalid or Corrupt with the fix if that cannot be."""
        try:
            while not self.max_leases:
                try:
                    self._pulse()
                except (Busy, Unknown) as error:
                    self.error = error
                    LOG.warning("%s", error)
                if not self.max_leases:
                    self.worker.ports.clock.sleep(IN_VAIN * self.settings.heartbeat_s)
        except BaseException:
            self._opened.close()
            raise
        self._thread.start()
        return self.max_leases

    def stop(self) -> None:
        """Leave: the row is deleted, so that the others share what this worker had.  Twice is once."""
        if self._stop.is_set():
            return
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        try:
            self.worker.leave()
        except (Busy, Unknown) as error:
            LOG.warning("the row stays until it is dead: %s", error)
        finally:
            self._opened.close()

    @property
    def stopped(self) -> bool:
        """Whether this worker has left, or was superseded."""
        return self._stop.is_set() or isinstance(self.error, Superseded)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        wait_s = self.settings.heartbeat_s
        while not self._stop.wait(wait_s):
            wait_s = self.settings.heartbeat_s
            try:
                self._pulse()
            except Superseded as error:
                self.error = error
                LOG.error("%s", error)
                return
            except HoldfastError as error:
                # The cap in force stays: what cannot be read now is no reason to stop working.
                if str(error) != str(self.error):
                    LOG.warning("%s", error)
                self.error = error
                wait_s *= IN_VAIN
            except Exception as error:
                # A thread that ends would leave a worker that works on, and is dead to the others.
                LOG.exception("a pulse failed, and the next one follows")
                self.error = Invalid(f"a defect, here or in on_change: {error!r}")

    def _pulse(self) -> None:
        self.worker.pulse()
        self.error = None
        for problem in self.worker.problems:
            if problem not in self._warned:
                LOG.warning("%s", problem)
        self._warned = self.worker.problems
        self._on_pulse(self.worker)

    def _apply(self, cap: Cap) -> None:
        if cap.view is not None and cap.max_leases_per_worker != self.max_leases:
            before, self.max_leases = self.max_leases, cap.max_leases_per_worker
            LOG.info("max leases per worker: %s, before %s (%s)", self.max_leases, before, cap.view.counts)
            self._on_change(self.max_leases)
