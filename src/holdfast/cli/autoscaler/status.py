"""`holdfast autoscaler status`."""

from pathlib import Path

import click

from holdfast.cli.autoscaler.session import busy, options, owner, say_json, session


@click.command(name="status")
@options
def command(config: Path | None, as_json: bool) -> None:
    """Say what it is doing, why, and what the fleet costs an hour.  Nothing is touched.

    \b
    Example:
      holdfast autoscaler status
      holdfast autoscaler status --json | jq .usd_per_hour
    """
    from holdfast.autoscaler.codec import SUBJECT
    from holdfast.autoscaler.report.status import status

    with session(config, as_json) as ours:
        with busy("looking around"):
            autoscaler = ours.autoscaler()
            cluster = autoscaler.store.read(SUBJECT).value
            snapshot = autoscaler.snapshot(owner("status"))
        found = status(cluster, snapshot, autoscaler.settings, autoscaler.clock.now_s())
        if as_json:
            say_json(found.as_json())
            return
        from holdfast.cli.autoscaler.views.status import screen
        from holdfast.cli.render import show, width

        show(screen(found, width()))
