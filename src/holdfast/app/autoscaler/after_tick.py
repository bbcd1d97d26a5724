"""What follows a tick and is never in its way: operators are told, and what was spent is noted.

Both have records of their own.  What fails here is logged, and comes again after the next tick.
"""

import logging
import random
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from holdfast.adapters.clock import SystemClock, new_id
from holdfast.adapters.logs import LOGGER
from holdfast.app.autoscaler.channels import channels_of
from holdfast.app.autoscaler.stores import open_boards
from holdfast.app.autoscaler.wiring import side_by_side
from holdfast.autoscaler.money import ledger
from holdfast.autoscaler.money.rates import Rates, rates
from holdfast.autoscaler.notifications.causes import Causes, causes
from holdfast.autoscaler.notifications.deliver import Delivery
from holdfast.autoscaler.result import TickResult
from holdfast.autoscaler.settings import Settings
from holdfast.kernel import Clock, Conflict, DriverPorts, HoldfastError, advance
from holdfast.kernel.ports import Repository

TELL_S: Final = 15.0
"""No new try is begun this long after the first."""

LAST_S: Final = 2.0
"""How long a process that ends waits for what is under way."""

log = logging.getLogger(LOGGER)


@dataclass
class AfterTick:
    """Keeps in mind what it knows to be done: an idle tick reads nothing more."""

    settings: Settings
    delivery: Delivery | None
    """None: no channel is set."""
    ledger: Repository[ledger.Ledger]
    clock: Clock = field(default_factory=SystemClock)
    _told: frozenset[object] | None = None
    _told_again_s: float = 0.0
    _noted: Rates | None = None
    _noted_s: float = 0.0

    def run(self, result: TickResult, owner: str) -> None:
        """Raises nothing that a store or a channel may suffer."""
        now_s = self.clock.now_s()
        for what, work in (("what was spent", self._note), ("messages for operators", self._tell)):
            try:
                work(result, owner, now_s)
            except Conflict:
                pass  # another process was faster, with the same news
            except HoldfastError as error:
                log.warning("%s: %s", what, error)

    def _note(self, result: TickResult, owner: str, now_s: float) -> None:
        snapshot = result.snapshot
        if snapshot is None or not snapshot.prices.of:
            return
        seen = rates((worker.instance for worker in snapshot.workers), snapshot.prices)
        if seen == self._noted and now_s - self._noted_s < ledger.WRITE_EVERY_S:
            return
        ports: DriverPorts[ledger.Ledger, Rates | None, None] = DriverPorts.on(
            self.ledger,
            ledger.SUBJECT,
            look=lambda: seen,
            perform=lambda effect: None,
            clock=self.clock,
            new_id=new_id,
            random=random.random,
        )
        advance(ports, ledger.WORKFLOW)
        self._noted, self._noted_s = seen, now_s

    def _tell(self, result: TickResult, owner: str, now_s: float) -> None:
        if self.delivery is None:
            return
        seen: Causes | None = None
        if result.cluster is not None and result.snapshot is not None:
            seen = causes(result.cluster, result.snapshot, self.settings, now_s)
        known = frozenset(seen) if seen is not None else self._told
        if known == self._told and known is not None and now_s < self._told_again_s:
            return
        again_s = self.delivery.run(owner, seen, until_s=now_s + TELL_S)
        self._told, self._told_again_s = known, (again_s if again_s is not None else float("inf"))


def after_tick(settings: Settings, environ: Mapping[str, str]) -> AfterTick:
    """Wired.  Raises Invalid for settings that make no sense."""
    boards = open_boards(settings, environ)
    clock = SystemClock()
    delivery = None
    if settings.notifies:
        delivery = Delivery(
            store=boards.notifications,
            channels=channels_of(settings, environ),
            cluster=settings.cluster_name,
            after_s=settings.notify_after_s,
            clock=clock,
            new_id=new_id,
            random=random.random,
            together=side_by_side,
        )
    return AfterTick(settings, delivery, boards.ledger, clock)


@dataclass
class Beside:
    """In a thread of its own, the newest tick only: a channel that hangs holds up no turn."""

    work: AfterTick
    owner: str
    _newest: TickResult | None = None
    _stopping: bool = False
    _news: threading.Condition = field(default_factory=threading.Condition)

    def turned(self, result: TickResult) -> None:
        with self._news:
            self._newest = result
            self._news.notify()

    def stop(self) -> None:
        """After what is under way, and what the last turn brought."""
        with self._news:
            self._stopping = True
            self._news.notify()

    def run(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._newest is not None or self._stopping)
                result, self._newest = self._newest, None
            if result is None:
                return
            self.work.run(result, self.owner)


@contextmanager
def beside(work: AfterTick, owner: str) -> Iterator[Beside]:
    """While inside, and a moment longer.  A thread that hangs is left behind: what it did not bring comes
    after the next tick."""
    made = Beside(work, owner)
    thread = threading.Thread(target=made.run, name="after-tick", daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.stop()
        thread.join(LAST_S)
