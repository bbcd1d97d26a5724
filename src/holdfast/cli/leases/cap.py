"""`holdfast leases cap`."""

from pathlib import Path

import click

from holdfast.cli.leases.session import session
from holdfast.cli.session import log_lines_as, options, say_json


@click.command(name="cap")
@options
@click.option(
    "--properties",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also set maxLeasesForWorker in this file of a MultiLangDaemon, all at once.",
)
@log_lines_as("text", "level", "json")
def command(config: Path | None, as_json: bool, properties: Path | None, log_format: str) -> None:
    """Agree on the cap as a worker does at its start, and print what its KCL is to be told.

    That number and nothing else goes to stdout, or nothing and the exit code says so.  It is the
    agreed cap, and more where lease rows of ended shards would fill that.  What is agreed is
    written down, with a row for this worker; it is not looked at again: for that there is `exec`.
    What it does stands on stderr, with the time, with the level alone, or as JSON.

    \b
    Examples:
      java … Consumer --max-leases "$(holdfast leases cap)"
      holdfast leases cap --properties kcl.properties && exec amazon_kclpy …
    """
    from holdfast.adapters.logs import set_up
    from holdfast.stream.told import told_at_start

    with session(config, as_json) as ours:
        set_up(log_format)
        told = told_at_start(ours.settings)
        if properties is not None:
            from holdfast.stream.properties import set_max_leases

            set_max_leases(properties, told.max_leases)
    if as_json:
        say_json({"max_leases": told.max_leases, "agreed": told.agreed, "lease_rows": told.lease_rows})
    else:
        click.echo(told.max_leases)
