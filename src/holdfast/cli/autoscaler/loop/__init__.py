"""The daemon: the same tick, again and again, until it is told to stop."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from holdfast.adapters.logs import LOGGER, concerning
from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.reasons import TickOutcome
from holdfast.autoscaler.report.cost import cost_gauges
from holdfast.autoscaler.report.gauges import Gauge, gauges
from holdfast.autoscaler.report.unseen import in_vain
from holdfast.autoscaler.result import TickResult
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.tick import Autoscaler
from holdfast.cli.autoscaler.loop.metrics import MetricsCollector
from holdfast.cloud.text import lasting
from holdfast.kernel import HoldfastError, Logged

TURN_S: Final = 20.0
"""A turn ends after this long, so that a signal to stop is heard; the next one goes on at once."""

TOGETHER_S: Final = 0.03
"""What happens within so long is seen by one turn."""
APART_MAX_S: Final = 1.0
"""After a turn it rests for as long as that took, or for this, before it can be woken."""

SAY_AGAIN_S: Final = 20.0

log = logging.getLogger(LOGGER)


@dataclass
class Loop:
    make: Callable[[], Autoscaler]
    """Wires one.  Called again after a turn that failed: an address or a sign-in may have changed."""
    owner: str
    every_s: float
    collector: MetricsCollector
    stop: threading.Event = field(default_factory=threading.Event)
    news: threading.Event = field(default_factory=threading.Event)
    """Set by what ends the rest between two turns: a notice, a change that was watched, a signal to stop."""
    turned: Callable[[TickResult], None] = lambda result: None
    _version: int | None = None
    """Up to which the log has been counted."""
    _took_s: float = 0.0
    """How long the last turn took."""
    _said: tuple[str, str] = ("", "")
    """What the last turn came to: said again only when it changes."""
    _failing_since_s: float = 0.0
    """Since when no turn could do its work; 0: the last one did."""
    _say_again_s: float = 0.0
    """A trouble that lasts is said again after this long, and then half as often each time."""

    def run(self, turns: int = 0) -> TickResult | None:
        """Turn after turn; `turns` of them, or for ever with 0.  What the last one came to.

        Raises what forbids the first one.
        """
        autoscaler = self.make()
        done, result = 0, None
        while not self.stop.is_set():
            result = self._turn(autoscaler)
            done += 1
            if turns and done >= turns:
                break
            self._rest(self._pause_s(result, autoscaler.clock.now_s()))
            if result.outcome.failed and not self.stop.is_set():
                autoscaler = self._made_again(autoscaler)
        return result

    def _rest(self, pause_s: float) -> None:
        """Until it is time, or something has happened."""
        if self.news.wait(pause_s) and pause_s:
            self.stop.wait(max(TOGETHER_S, min(self._took_s, APART_MAX_S)))
        self.news.clear()

    def end(self) -> None:
        """After the turn that runs."""
        self.stop.set()
        self.news.set()

    def _turn(self, autoscaler: Autoscaler) -> TickResult:
        with concerning(request_id=self.owner):
            if self._version is None:
                self._count(autoscaler)
            began_s = autoscaler.clock.now_s()
            result = autoscaler.tick(self.owner, until_s=began_s + TURN_S, told=self._tell)
            self._took_s = max(0.0, autoscaler.clock.now_s() - began_s)
            self._show(autoscaler, result)
            self._say(result, began_s, autoscaler.clock.now_s())
        self.turned(result)
        return result

    def _say(self, result: TickResult, began_s: float, now_s: float) -> None:
        if result.outcome.failed:
            self._say_failing(result, began_s, now_s)
        else:
            if self._failing_since_s:
                log.info("it works again, after %s", lasting(now_s - self._failing_since_s))
            self._failing_since_s = 0.0
            said = (result.outcome, result.code or result.why)
            level = logging.DEBUG if self._said == said and not result.problems else logging.INFO
            self._said = said
            log.log(level, "%s", result.told)
        for problem in result.problems:
            log.error("%s", problem)

    def _say_failing(self, result: TickResult, began_s: float, now_s: float) -> None:
        """With how long it has lasted; one that lasts is not said at every turn."""
        first = not self._failing_since_s
        self._failing_since_s = self._failing_since_s or began_s
        lasted_s = now_s - self._failing_since_s
        if first or lasted_s >= self._say_again_s or result.outcome is TickOutcome.REFUSED:
            self._say_again_s = max(SAY_AGAIN_S, 2 * lasted_s)
            level = logging.ERROR if result.outcome is TickOutcome.REFUSED else logging.WARNING
            log.log(level, "%s", in_vain(result.told, lasted_s))
        self._said = ("", "")

    def _tell(self, step: str) -> None:
        action = next((word for word in step.split() if _is_action(word)), "")
        with concerning(action_id=action):
            log.info("%s", step)

    def _show(self, autoscaler: Autoscaler, result: TickResult) -> None:
        now_s = autoscaler.clock.now_s()
        if result.cluster is not None and result.snapshot is not None:
            self.collector.gauges = gauges(result.cluster, result.snapshot, autoscaler.settings, now_s)
            self.collector.more = partial(_costs, result.snapshot, autoscaler.settings.cluster_name)
        self.collector.turned(result.outcome, now_s, self._count(autoscaler))

    def _count(self, autoscaler: Autoscaler) -> Sequence[Logged]:
        """What the log has that was not counted yet.  Best effort: it is there the next time too."""
        try:
            if self._version is None:
                self._version = autoscaler.store.read(SUBJECT).version
            news = autoscaler.store.events(SUBJECT, self._version)
        except HoldfastError as error:
            log.warning("the log could not be counted: %s", error)
            return ()
        self._version = news[-1].version if news else self._version
        return news

    def _pause_s(self, result: TickResult, now_s: float) -> float:
        if result.outcome is TickOutcome.OUT_OF_TIME:
            return 0.0
        if result.retry_at_s:
            return min(self.every_s, max(1.0, result.retry_at_s - now_s))
        return self.every_s

    def _made_again(self, before: Autoscaler) -> Autoscaler:
        try:
            return self.make()
        except HoldfastError as error:
            log.error("%s", error)
            return before


def _costs(snapshot: Snapshot, cluster: str) -> Sequence[Gauge]:
    found = snapshot.costs()
    return list(cost_gauges(found, cluster)) if found is not None else []


def _is_action(word: str) -> bool:
    """`<epoch>-<request id>`"""
    head, dash, rest = word.partition("-")
    return bool(dash and rest) and head.isdigit() and len(head) >= 9


@contextmanager
def told_to_stop(end: Callable[[], None]) -> Iterator[None]:
    """The first SIGTERM or SIGINT lets the turn end; a second one ends the process at once."""

    def hear(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        end()

    before: Sequence[tuple[int, object]] = [
        (n, signal.signal(n, hear)) for n in (signal.SIGTERM, signal.SIGINT)
    ]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)  # type: ignore[arg-type]  # what was there is put back
