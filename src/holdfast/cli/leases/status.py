"""`holdfast leases status`."""

from pathlib import Path

import click

from holdfast.cli.leases.session import session
from holdfast.cli.session import WRONG, busy, options, say_json


@click.command(name="status")
@options
@click.option(
    "--check", is_flag=True, help="Watch for the beats of all workers; exit code 1 if shards stay unread."
)
def command(config: Path | None, as_json: bool, check: bool) -> None:
    """Say what is agreed, who has it in force, and whether shards stay unread.  Nothing is touched.

    One look cannot tell a living worker from a dead one: --check looks twice, a beat and a half
    apart, and `watch` goes on looking.

    \b
    Example:
      holdfast leases status
      holdfast leases status --check || page-the-operator
    """
    from holdfast.app.leases import open_store

    with session(config, as_json) as ours, open_store(ours.settings) as opened:
        from holdfast.cli.leases.look import BEATS, Lookout

        lookout = Lookout(ours.settings, opened)
        with busy("looking around"):
            found = lookout.look()
            if check:
                lookout.ports.clock.sleep(BEATS * ours.settings.heartbeat_s)
                found = lookout.look()
        if as_json:
            say_json(found.as_json())
        else:
            from holdfast.cli.leases.views.status import screen
            from holdfast.cli.render import show

            show(screen(found))
        if check and (found.unread or found.agreed is None):
            raise SystemExit(WRONG)
