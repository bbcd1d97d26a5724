"""`holdfast autoscaler run`."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.autoscaler.session import creating, owner, session
from holdfast.cli.autoscaler.tick import row, went_wrong
from holdfast.cli.session import WRONG, log_format, options
from holdfast.cli.times import Seconds

if TYPE_CHECKING:
    from holdfast.app.listening import Listener
    from holdfast.autoscaler.result import TickResult
    from holdfast.cli.autoscaler.loop import Loop
    from holdfast.cli.autoscaler.loop.metrics import MetricsCollector
    from holdfast.cli.autoscaler.session import Session


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
@click.option("--metrics-port", type=click.IntRange(1, 65_535), help="Serve /metrics for Prometheus here.")
@click.option("--metrics-address", default="0.0.0.0", show_default=True, help="… on this address.")
@log_format
@click.option("--turns", type=click.IntRange(min=1), help="End by itself after so many turns.")
def command(
    config: Path | None,
    as_json: bool,
    create_tables: bool,
    every: float,
    metrics_port: int | None,
    metrics_address: str,
    log_format: str,
    turns: int | None,
) -> None:
    """Run it in a loop.  SIGTERM or Ctrl-C ends it after the turn that runs, within seconds.

    It may be killed at any moment, and may run beside others: the next tick goes on from
    the record.  With --json, one line a turn goes to stdout; the log goes to stderr.  With
    --turns, exit code 1 if the last one could not do its work.

    \b
    Example:
      holdfast autoscaler run --every 30 --metrics-port 9095 --log-format json
    """
    from holdfast.adapters.logs import set_up
    from holdfast.app.listening import listening
    from holdfast.cli.autoscaler.loop import Loop, told_to_stop
    from holdfast.cli.autoscaler.loop.metrics import MetricsCollector

    with session(config, as_json, in_lines=True) as ours:
        log = set_up(log_format)
        collector = MetricsCollector(ours.settings.cluster_name)
        loop = Loop(
            make=lambda: ours.autoscaler(create_tables=create_tables),
            owner=owner("run"),
            every_s=every,
            collector=collector,
            turned=_say if as_json else (lambda result: None),
        )
        log.info("running %s every %g s as %s", ours.settings.cluster_name, every, loop.owner)

        def end() -> None:
            loop.end()
            log.info("stopping after this turn; once more stops at once")

        with (
            told_to_stop(end),
            listening(_listener(ours, loop)),
            _served(collector, metrics_address, metrics_port),
        ):
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
    return Listener(queue, lambda notices: autoscaler().keep(notices), loop.news.set, loop.stop)


def _say(result: "TickResult") -> None:
    click.echo(json.dumps(row(result)))


@contextmanager
def _served(collector: "MetricsCollector", address: str, port: int | None) -> Iterator[None]:
    if port is None:
        yield
        return
    from prometheus_client import start_http_server

    try:
        server, thread = start_http_server(port, address, registry=collector.registry())
    except OSError as error:
        click.echo(f"error: --metrics-port {port} on {address}: {error.strerror}; choose another", err=True)
        raise SystemExit(WRONG) from error
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
