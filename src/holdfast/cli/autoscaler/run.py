"""`holdfast autoscaler run`."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from holdfast.cli.autoscaler.session import creating, owner, session
from holdfast.cli.autoscaler.tick import row, went_wrong
from holdfast.cli.session import WRONG, log_format, options, say
from holdfast.cli.times import Seconds

if TYPE_CHECKING:
    from holdfast.adapters.kubernetes.watch.watches import Watches
    from holdfast.app.listening import Listener
    from holdfast.autoscaler.result import TickResult
    from holdfast.cli.autoscaler.loop import Loop
    from holdfast.cli.autoscaler.session import Session

FIRST_LISTS_S: Final = 20.0
"""So long the first turn waits for what is watched."""
LOOK_S: Final = 0.05


@click.command(name="run")
@options
@creating
@click.option(
    "--every",
    type=Seconds(min=1, max=3_600),
    default=30.0,
    show_default=True,
    help="Seconds between two turns in which there is nothing to do.",
)
@click.option(
    "--watch",
    is_flag=True,
    help="Follow the cluster, and turn at once when something changes that matters.",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(1, 65_535),
    help="Serve /metrics for Prometheus here, and /health and /ready for probes.",
)
@click.option("--metrics-address", default="0.0.0.0", show_default=True, help="… on this address.")
@log_format
@click.option("--turns", type=click.IntRange(min=1), help="End by itself after so many turns.")
def command(
    config: Path | None,
    as_json: bool,
    create_tables: bool,
    every: float,
    watch: bool,
    metrics_port: int | None,
    metrics_address: str,
    log_format: str,
    turns: int | None,
) -> None:
    """Run it in a loop.  SIGTERM or Ctrl-C ends it after the turn that runs, within seconds.

    It may be killed at any moment, and may run beside others: the next tick goes on from
    the record.  With --watch it follows nodes, pods, budgets, claims and namespaces, and
    decides by what it has seen while that is current; before it removes anything it lists them anew.
    With --json, one line a turn goes to stdout; the log goes to stderr.  With --turns, exit
    code 1 if the last one could not do its work.

    \b
    Example:
      holdfast autoscaler run --every 30 --metrics-port 9095 --log-format json
      holdfast autoscaler run --watch --metrics-port 9095
    """
    from holdfast.adapters.logs import set_up
    from holdfast.app.autoscaler.after_tick import after_tick, beside
    from holdfast.app.listening import listening
    from holdfast.cli.autoscaler.loop import Loop, told_to_stop
    from holdfast.cli.autoscaler.loop.metrics import MetricsCollector

    with session(config, as_json, in_lines=True) as ours:
        log = set_up(log_format)
        collector = MetricsCollector(ours.settings.cluster_name)
        watches: list[Watches] = []
        loop = Loop(
            make=lambda: ours.autoscaler(create_tables=create_tables, watches=next(iter(watches), None)),
            owner=owner("run"),
            every_s=every,
            collector=collector,
        )
        log.info("running %s every %g s as %s", ours.settings.cluster_name, every, loop.owner)

        def end() -> None:
            loop.end()
            log.info("stopping after this turn; once more stops at once")

        with (
            told_to_stop(end),
            beside(after_tick(ours.settings, os.environ), loop.owner) as after,
            listening(_listener(ours, loop)),
            _served(loop, metrics_address, metrics_port),
            _watching(ours, loop, watches) if watch else nullcontext(),
        ):
            loop.turned = _each_to(after.turned, *([_say] if as_json else []))
            last = loop.run(turns or 0)
        log.info("stopped")
    if turns and last is not None and went_wrong(last):
        raise SystemExit(WRONG)


def _listener(ours: "Session", loop: "Loop") -> "Listener | None":
    """With clients and stores of its own, made when they are first needed: it keeps while a turn runs."""
    if not ours.settings.notice_queue_url:
        return None
    from holdfast.adapters.aws.sqs import NoticeQueue
    from holdfast.app.autoscaler.clients import sqs_client
    from holdfast.app.listening import Listener

    queue = NoticeQueue(sqs_client(ours.settings, os.environ), ours.settings.notice_queue_url)
    autoscaler = cache(ours.autoscaler)
    made = Listener(queue, lambda notices: autoscaler().keep(notices), loop.rests.wake_for_notice, loop.stop)
    loop.condition.beside.append(lambda: made.trouble)
    return made


def _each_to(*hear: "Callable[[TickResult], None]") -> "Callable[[TickResult], None]":
    def turned(result: "TickResult") -> None:
        for each in hear:
            each(result)

    return turned


def _say(result: "TickResult") -> None:
    click.echo(json.dumps(row(result)))


@contextmanager
def _watching(ours: "Session", loop: "Loop", watches: "list[Watches]") -> Iterator[None]:
    from holdfast.app.autoscaler.watching import watching
    from holdfast.cli.autoscaler.loop.metrics import of_watches

    with watching(ours.settings, loop.rests.wake) as made:
        watches.append(made)
        loop.condition.beside.append(lambda: made.trouble)
        loop.collector.watched = lambda: of_watches(made)
        # A turn that lists while the watches do would leave its memory scattered among theirs.
        for _ in range(round(FIRST_LISTS_S / LOOK_S)):
            if not made.doubt() or loop.stop.wait(LOOK_S):
                break
        yield


@contextmanager
def _served(loop: "Loop", address: str, port: int | None) -> Iterator[None]:
    if port is None:
        yield
        return
    from holdfast.cli.autoscaler.loop.endpoints import served

    with ExitStack() as serving:
        try:
            serving.enter_context(served(loop.collector, loop.condition, address, port, loop.every_s))
        except OSError as error:
            told = f"error: --metrics-port {port} on {address}: {error.strerror}; choose another"
            say(told, err=True)
            raise SystemExit(WRONG) from error
        yield
