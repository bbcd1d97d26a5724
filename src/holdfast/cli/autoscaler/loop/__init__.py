"""The daemon: the same tick, again and again, until it is told to stop."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
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
from holdfast.cli.autoscaler.loop.condition import Condition
from holdfast.cli.autoscaler.loop.metrics import MetricsCollector
from holdfast.cli.autoscaler.loop.rests import Rests
from holdfast.cloud.text import lasting
from holdfast.kernel import HoldfastError, Logged

TURN_S: Final = 20.0
"""A turn ends after this long; the next one goes on at once."""

SAY_AGAIN_S: Final = 20.0

log = logging.getLogger(LOGGER)


@dataclass
class Loop:
    make: Callable[[], Autoscaler]
    """Wires one.  Called again after a turn that failed: an address or a sign-in may have changed."""
    owner: str
    every_s: float
    collector: MetricsCollector
    rests: Rests = field(default_factory=Rests)
    condition: Condition = field(default_factory=Condition)
    turned: Callable[[TickResult], None] = lambda result: None
    _version: int | None = None
    """Up to which the log has been counted."""
    _said: tuple[str, str] = ("", "")
    """What the last turn came to: said again only when it changes."""
    _problems: dict[str, tuple[float, float]] = field(default_factory=dict)
    """What an operator must mend: when each is said again, and how long after that."""
    _failing_since_s: float = 0.0
    """Since when no turn could do its work; 0: the last one did."""
    _say_again_s: float = 0.0
    """A trouble that lasts is said again after this long, and then half as often each time."""

    def run(self, turns: int = 0) -> TickResult | None:
        """Turn after turn; `turns` of them, or for ever with 0.  What the last one came to.

        Raises what forbids the first one.
        """
        autoscaler = self._made()
        done, result = 0, None
        while not self.stop.is_set():
            result = self._turn(autoscaler)
            done += 1
            if turns and done >= turns:
                break
            self.rests.until_news(self._pause_s(result, autoscaler.clock.now_s()))
            if result.outcome.failed and not self.stop.is_set():
                autoscaler = self._made_again(autoscaler)
        return result

    @property
    def stop(self) -> threading.Event:
        return self.rests.stop

    def end(self) -> None:
        """After the turn that runs."""
        self.rests.end()

    def _turn(self, autoscaler: Autoscaler) -> TickResult:
        with concerning(request_id=self.owner):
            if self._version is None:
                self._count(autoscaler)
            began_s = autoscaler.clock.now_s()
            result = autoscaler.tick(self.owner, until_s=began_s + TURN_S, told=self._tell)
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
            level = logging.DEBUG if self._said == said else logging.INFO
            self._said = said
            log.log(level, "%s", result.told)
        self._say_problems(result.problems, now_s)

    def _say_problems(self, problems: Sequence[str], now_s: float) -> None:
        """One that lasts is not said at every turn: with --every 2 nothing else could be read."""
        said: dict[str, tuple[float, float]] = {}
        for problem in problems:
            again_s, pause_s = self._problems.get(problem, (now_s, SAY_AGAIN_S))
            if now_s >= again_s:
                log.error("%s", problem)
                again_s, pause_s = now_s + pause_s, 2 * pause_s
            said[problem] = again_s, pause_s
        self._problems = said

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
        self.condition.turned(result)
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

    def _made(self) -> Autoscaler:
        return replace(self.make(), pause=self.rests.between_rounds)

    def _made_again(self, before: Autoscaler) -> Autoscaler:
        try:
            return self._made()
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
