"""What a KCL is told at its start, by a worker that agrees once and then runs on its own."""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.app.leases import open_store, worker_ports
from holdfast.leases.settings import Settings
from holdfast.leases.told import told_leases
from holdfast.leases.worker.start import StartWorker
from holdfast.stream.given import refuse_disabled

LOG: Final = logging.getLogger("holdfast.stream")


@dataclass(frozen=True, slots=True)
class Told:
    max_leases: int
    """For the KCL."""
    agreed: int
    lease_rows: int


def told_at_start(settings: Settings, environ: Mapping[str, str] = os.environ) -> Told:
    """Agree, and say what follows.  Raises Invalid or Corrupt with the fix, and Busy."""
    refuse_disabled(settings)
    with open_store(settings, environ, create_tables=True) as opened:
        worker = StartWorker(worker_ports(settings, opened.store, environ), settings, say=LOG.info)
        cap = worker.run()
    for problem in worker.problems:
        LOG.warning("%s", problem)
    assert cap.view is not None
    assert worker.counted is not None
    rows = worker.counted.lease_table.rows
    told = told_leases(cap.view, lease_rows=rows, headroom_workers=settings.lease_headroom_workers)
    return Told(told, cap.max_leases_per_worker, rows)
