"""`leases exec`: a command under the live cap of its worker."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast.kernel import HoldfastError, Invalid
from holdfast.leases.settings import Settings
from holdfast.stream.live import LiveCap
from holdfast.stream.metrics import as_text
from holdfast.stream.supervise import signals
from holdfast.stream.supervise.child import PLACEHOLDER
from holdfast.stream.supervise.health import Health, served
from holdfast.stream.supervise.orders import CapOrders
from holdfast.stream.supervise.supervisor import Orders, Supervisor

WORKER_ID: Final = "HOLDFAST_WORKER_ID"


@dataclass
class NoCap:
    """ENABLE_DYNAMIC_MAX_LEASES says no: the command runs as it is, and keeps the number that it has."""

    def first(self) -> int | None:
        return 0

    def next(self) -> int | None:
        return None

    def started(self, max_leases: int) -> None:
        """There is nothing to note."""

    def problem(self) -> HoldfastError | None:
        return None


def run_command(
    settings: Settings,
    command: Sequence[str],
    *,
    grace_s: float,
    properties: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> int:
    """The exit code.  Raises Invalid or Corrupt with the fix if no cap can be agreed on.

    `properties`: a file of a MultiLangDaemon, which has the number before each start.
    """
    dynamic = settings.enable_dynamic_max_leases
    if not dynamic and any(PLACEHOLDER in word for word in command):
        raise Invalid(
            f"enable_dynamic_max_leases is false, and the command asks for {PLACEHOLDER}: "
            "write the number there, or set ENABLE_DYNAMIC_MAX_LEASES to true"
        )
    orders = CapOrders()
    health = Health(metrics=lambda: as_text(orders.numbers, settings))
    following: Orders = orders if dynamic else NoCap()
    given = {**environ, WORKER_ID: settings.worker_id}
    supervisor = Supervisor(
        command, following, grace_s, health, lingers=bool(settings.health_port), environ=given
    )
    if properties is not None and dynamic:
        path = properties
        supervisor.prepare = lambda max_leases: _set(path, max_leases)
    with signals.blocked(), served(health, settings.health_port):
        if dynamic:
            orders.join(lambda: LiveCap(settings=settings, on_pulse=orders.pulsed, environ=environ))
        try:
            return supervisor.run()
        finally:
            orders.leave()


def _set(properties: Path, max_leases: int) -> None:
    from holdfast.stream.properties import set_max_leases

    set_max_leases(properties, max_leases)
