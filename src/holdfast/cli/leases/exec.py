"""`holdfast leases exec`."""

from pathlib import Path

import click

from holdfast.cli.leases.session import session
from holdfast.cli.session import log_format, options
from holdfast.cli.times import Seconds

HEADROOM_WORKERS = 1
"""While one worker restarts its KCL, the others must be able to hold all."""


@click.command(name="exec", context_settings={"ignore_unknown_options": True})
@options
@click.option(
    "--grace",
    type=Seconds(min=0, max=3_600),
    default=30.0,
    show_default=True,
    help="Seconds that the command has to end, before it is killed with all it has started.",
)
@click.option(
    "--properties",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Set maxLeasesForWorker in this file of a MultiLangDaemon before each start.",
)
@log_format
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND …")
def command(
    config: Path | None,
    as_json: bool,
    grace: float,
    properties: Path | None,
    log_format: str,
    words: tuple[str, ...],
) -> None:
    """Run a command under the live cap of this worker; {max_leases} in it is the number.

    The command has it as HOLDFAST_MAX_LEASES too.  Signals are passed on to it and all that it
    starts; its exit code is ours; it may be process 1 of a container.  It is started anew only
    when shards would stay unread under the number that it was told, one worker of the app at a
    time, and never for a lower one.  /health, /ready and /metrics are on HEALTH_PORT.

    \b
    Examples:
      holdfast leases exec -- java -jar consumer.jar --max-leases {max_leases}
      holdfast leases exec --properties kcl.properties -- amazon_kclpy_helper.py …
    """
    from holdfast.adapters.logs import set_up
    from holdfast.stream.supervise.run import run_command

    with session(config, as_json, in_lines=True, lease_headroom_workers=HEADROOM_WORKERS) as ours:
        set_up(log_format)
        code = run_command(ours.settings, words, grace_s=grace, properties=properties)
    raise SystemExit(code)
