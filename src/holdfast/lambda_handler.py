"""The autoscaler as a Lambda function: it is time, or notices have come; one tick an invocation.

Everything that arrives is answered and logged.  An exception would make Lambda bring the same event
again, so there is one only where that may help: a notice that came alone and could not be kept.
What came in a batch is named in `batchItemFailures` instead, and comes again without the others.

Only what an idle tick needs is imported here: a cold start is paid for, and an interrupted node waits for it.
"""

import logging
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from holdfast.adapters import logs
from holdfast.adapters.aws import metrics
from holdfast.adapters.aws.events import Parsed, notices_of
from holdfast.adapters.clock import SystemClock
from holdfast.app.autoscaler.wiring import assemble
from holdfast.autoscaler.reasons import TickOutcome
from holdfast.autoscaler.report.gauges import gauges
from holdfast.autoscaler.result import TickResult
from holdfast.autoscaler.settings.load import load
from holdfast.autoscaler.tick import Autoscaler
from holdfast.kernel import Busy, Clock, Conflict, HoldfastError, Invalid, Unknown

MARGIN_S: Final = 20.0
"""No new work is begun so shortly before Lambda ends the process."""
MARGIN_PART: Final = 0.25
"""Of a function that has little time, at most this part is margin."""
PAUSE_FIRST_S: Final = 0.2
PAUSE_MAX_S: Final = 5.0

MODELS: Final = "aws-models"
"""Beside the code: descriptions of the few AWS calls that are made.  Without them botocore reads all."""

LOG: Final = logging.getLogger(f"{logs.LOGGER}.lambda")


class Context(Protocol):
    """What Lambda says about an invocation."""

    @property
    def aws_request_id(self) -> str: ...

    def get_remaining_time_in_millis(self) -> int: ...


class Shell:
    """Keeps the wired autoscaler between invocations of one process: its clients are dear."""

    def __init__(
        self,
        wire: Callable[[], Autoscaler],
        *,
        clock: Clock,
        write: Callable[[str], object],
        follow: Callable[[Autoscaler], Callable[[TickResult, str], None]] | None = None,
    ) -> None:
        """`wire` is called until it succeeds once.  `write` takes the lines of the metrics.  `follow` gives
        what comes after a tick."""
        self._wire, self._clock, self._write = wire, clock, write
        self._wired: Autoscaler | None = None
        self._follow = follow
        self._cold = True
        self._after: Callable[[TickResult, str], None] | None = None

    def handle(self, event: object, context: Context) -> dict[str, Any]:
        remaining_s = context.get_remaining_time_in_millis() / 1_000
        until_s = self._clock.now_s() + remaining_s - margin_s(remaining_s)
        with logs.concerning(request_id=context.aws_request_id):
            parsed = notices_of(event)
            for problem in parsed.problems:
                LOG.error("not understood, and dropped: %s", problem)
            if not parsed.notices and not parsed.scheduled:
                word = TickOutcome.NOT_UNDERSTOOD if parsed.problems else TickOutcome.NOTHING_TO_DO
                return _answer(parsed, TickResult(word, "; ".join(parsed.problems)))
            return self._work(parsed, context.aws_request_id, until_s)

    def _work(self, parsed: Parsed, owner: str, until_s: float) -> dict[str, Any]:
        try:
            self._wired = self._wired or self._wire()
        except HoldfastError as error:
            result, unkept = TickResult(_outcome(error), str(error)), error if parsed.notices else None
        else:
            result = self._wired.tick(owner, until_s=until_s, notices=parsed.notices, told=LOG.info)
            unkept = self._unkept(self._wired, result, parsed, until_s)
            self._measure(self._wired, result, owner)
            self._ended(self._wired, result, owner, until_s)
            if result.outcome.failed:
                self._wired = None  # an address or a sign-in may have changed: the next one finds out
        _log(result)
        if unkept is not None:
            LOG.error("%d notices could not be kept: %s", len(parsed.notices), unkept)
            if not parsed.batch and _outcome(unkept) is TickOutcome.BUSY:
                raise unkept
        return _answer(parsed, result, failed=unkept is not None)

    def _unkept(
        self, wired: Autoscaler, result: TickResult, parsed: Parsed, until_s: float
    ) -> HoldfastError | None:
        """Why the notices are not in the inbox; None if they are.

        A tick puts them there before anything else, but one that failed may have failed in that.
        To put them again is the same as once, and sooner than any queue would bring them again.
        """
        if not parsed.notices or not result.outcome.failed:
            return None
        pause_s = PAUSE_FIRST_S
        while True:
            try:
                wired.inbox.put(parsed.notices)
                return None
            except (Busy, Conflict, Unknown) as error:
                if self._clock.now_s() + pause_s >= until_s:
                    return error
                self._clock.sleep(pause_s)
                pause_s = min(2 * pause_s, PAUSE_MAX_S)
            except HoldfastError as error:
                return error

    def _ended(self, wired: Autoscaler, result: TickResult, owner: str, until_s: float) -> None:
        """Tell operators, and note what was spent, if there is time.

        What is only noted waits for the second invocation of a process: a cold start is slow enough.
        """
        cold, self._cold = self._cold, False
        if self._follow is None or self._clock.now_s() >= until_s or (cold and not wired.settings.notifies):
            return
        try:
            self._after = self._after or self._follow(wired)
        except HoldfastError as error:
            LOG.error("nothing follows the tick: %s", error)
            return
        self._after(result, owner)

    def _measure(self, wired: Autoscaler, result: TickResult, owner: str) -> None:
        now_s, own = self._clock.now_s(), {"cluster": wired.settings.cluster_name}
        worked = float(not result.outcome.failed)
        found: list[metrics.Gauge] = [
            ("holdfast_tick_ok", own, worked, "1 if the tick did its work."),
            ("holdfast_tick_conflicts", own, float(result.conflicts), "Commits that were refused."),
        ]
        if result.cluster is not None and result.snapshot is not None:
            found += gauges(result.cluster, result.snapshot, wired.settings, now_s)
        for line in metrics.lines(found, at_s=now_s, beside={"requestId": owner}):
            self._write(f"{line}\n")


def margin_s(remaining_s: float) -> float:
    return min(MARGIN_S, MARGIN_PART * remaining_s)


def _outcome(error: HoldfastError) -> TickOutcome:
    again = isinstance(error, Busy | Conflict | Unknown)
    return TickOutcome.BUSY if again else TickOutcome.REFUSED


def _log(result: TickResult) -> None:
    level = logging.WARNING if result.outcome.failed else logging.INFO
    LOG.log(level, result.told, extra={"outcome": result.outcome, "steps": len(result.steps)})
    for problem in result.problems:
        LOG.warning(problem)


def _answer(parsed: Parsed, result: TickResult, *, failed: bool = False) -> dict[str, Any]:
    """To a queue nothing but what it knows to read: an answer that it rejects would bring all of it again."""
    if parsed.batch:
        again = parsed.message_ids if failed else ()
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in again]}
    return {
        "outcome": result.outcome,
        "why": result.why,
        "code": result.code,
        "steps": list(result.steps),
        "problems": [*parsed.problems, *result.problems],
    }


def wired_by(environ: Mapping[str, str]) -> Autoscaler:
    """From the environment, and from `holdfast.toml` beside the code if it is there."""
    loaded = load(_settings_file(environ), environ)
    for warning in loaded.warnings:
        LOG.warning(warning)
    return assemble(loaded.settings, environ)


def _following(wired: Autoscaler) -> Callable[[TickResult, str], None]:
    from holdfast.app.autoscaler.after_tick import after_tick

    return after_tick(wired.settings, os.environ).run


def _settings_file(environ: Mapping[str, str]) -> Mapping[str, Any]:
    path = Path(environ.get("LAMBDA_TASK_ROOT", "")) / "holdfast.toml"
    if not environ.get("LAMBDA_TASK_ROOT") or not path.is_file():
        return {}
    import tomllib

    try:
        return tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"{path.name} in the function's zip is not TOML: {error}") from error


def handler(event: object, context: Context) -> dict[str, Any]:
    """What Lambda calls."""
    global _shell
    if _shell is None:
        models = Path(__file__).parents[1] / MODELS
        if models.is_dir():
            os.environ.setdefault("AWS_DATA_PATH", str(models))
        level = logging.getLevelNamesMapping().get(os.environ.get("LOG_LEVEL", ""), logging.INFO)
        logs.set_up("json", level=level)
        _shell = Shell(
            lambda: wired_by(os.environ), clock=SystemClock(), write=sys.stdout.write, follow=_following
        )
    return _shell.handle(event, context)


_shell: Shell | None = None
