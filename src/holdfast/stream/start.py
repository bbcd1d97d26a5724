"""The seed's `InitializeMaxLeasesPerWorker`: agree on the cap once, when a worker starts."""

import logging
import os
from collections.abc import Mapping
from typing import Final

from holdfast.app.leases import open_store, worker_ports
from holdfast.leases.cap import Cap
from holdfast.leases.settings import Settings
from holdfast.leases.worker.start import StartWorker
from holdfast.stream.given import settings_of

LOG: Final = logging.getLogger("holdfast.stream")


def initialize_max_leases_per_worker(
    region: str = "",
    stream_name: str = "",
    app_name: str = "",
    worker_id: str = "",
    *,
    environ: Mapping[str, str] = os.environ,
) -> int | None:
    """The agreed `max_leases_per_worker`; None if ENABLE_DYNAMIC_MAX_LEASES says no.

    What is not given comes from AWS_REGION, STREAM_NAME, APP_NAME and WORKER_ID (else POD_NAME, HOSTNAME).
    The tables are made if they are missing.  Twice is once: the second call finds what the first agreed on.
    Raises InvalidSettings, Invalid or Corrupt with the fix, and Busy if others were in the way for too long.
    """
    settings = settings_of(
        environ, region=region, stream_name=stream_name, app_name=app_name, worker_id=worker_id
    )
    if not settings.enable_dynamic_max_leases:
        return None
    return start(settings, environ).max_leases_per_worker


def start(settings: Settings, environ: Mapping[str, str] = os.environ) -> Cap:
    """What is agreed on for these settings, once this worker's row says so too."""
    with open_store(settings, environ, create_tables=True) as opened:
        worker = StartWorker(worker_ports(settings, opened.store, environ), settings, say=LOG.info)
        agreed = worker.run()
    for problem in worker.problems:
        LOG.warning("%s", problem)
    return agreed
