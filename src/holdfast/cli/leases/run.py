"""`holdfast leases run`."""

import json
import signal
import threading
import time
from pathlib import Path
from typing import Any

import click

from holdfast.cli.leases.session import session
from holdfast.cli.session import WRONG, log_format, options

HEARD = (signal.SIGTERM, signal.SIGINT)


@click.command(name="run")
@options
@log_format
def command(config: Path | None, as_json: bool, log_format: str) -> None:
    """Be a live worker without a command: beat, vote, agree, until SIGTERM or Ctrl-C.

    For a consumer that reads the cap by itself, and for trying out.  Each cap that comes into
    force is a line on stdout; with --json an object.  Who leaves deletes its row.  Exit code 1
    if another process takes this worker's id.  /health, /ready and /metrics are on HEALTH_PORT.

    \b
    Example:
      WORKER_ID=worker-1 holdfast leases run
    """
    from holdfast.adapters.logs import set_up
    from holdfast.stream.live import LiveCap
    from holdfast.stream.metrics import as_text, numbers
    from holdfast.stream.supervise.health import LINGER_S, Health, served

    ended = threading.Event()
    for heard in HEARD:
        signal.signal(heard, lambda *_: ended.set())

    with session(config, as_json, in_lines=True) as ours:
        set_up(log_format)
        health = Health()
        with served(health, ours.settings.health_port):
            live = LiveCap(settings=ours.settings, on_change=lambda cap: _say(cap, as_json))
            health.metrics = lambda: as_text(numbers(live.worker), ours.settings)
            live.start()
            health.ready = True
            try:
                while not ended.wait(0.1) and not live.stopped:
                    pass
                health.stopping, told_s = True, time.monotonic()
            finally:
                live.stop()
            if ended.is_set() and ours.settings.health_port:
                time.sleep(max(0.0, told_s + LINGER_S - time.monotonic()))
        if live.error is not None and not ended.is_set():
            raise SystemExit(WRONG)


def _say(cap: int, as_json: bool) -> None:
    told: Any = json.dumps({"max_leases_per_worker": cap}) if as_json else cap
    click.echo(told)
