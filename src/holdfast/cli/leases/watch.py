"""`holdfast leases watch`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.leases.session import session
from holdfast.cli.session import options, say_json
from holdfast.cli.times import Seconds

if TYPE_CHECKING:
    from holdfast.cli.leases.look import Lookout


@click.command(name="watch")
@options
@click.option(
    "--every", type=Seconds(min=0.1, max=3_600), help="Seconds between two looks.  [default: a beat]"
)
@click.option("--looks", type=click.IntRange(min=1), help="End by itself after so many looks.")
def command(config: Path | None, as_json: bool, every: float | None, looks: int | None) -> None:
    """Look again and again, until Ctrl-C: who beats, what is agreed, what stays unread.

    With --json, one line a look.  Nothing is touched.

    \b
    Example:
      holdfast leases watch
    """
    from holdfast.app.leases import open_store
    from holdfast.cli.leases.look import Lookout

    with session(config, as_json, in_lines=True) as ours, open_store(ours.settings) as opened:
        lookout, left = Lookout(ours.settings, opened), looks
        wait_s = every or ours.settings.heartbeat_s
        try:
            while left is None or left > 0:
                _show(lookout, as_json)
                left = None if left is None else left - 1
                if left != 0:
                    lookout.ports.clock.sleep(wait_s)
        except KeyboardInterrupt:
            click.echo(err=True)


def _show(lookout: "Lookout", as_json: bool) -> None:
    found = lookout.look()
    if as_json:
        say_json(found.as_json(), in_line=True)
        sys.stdout.flush()
        return
    from holdfast.cli.leases.views.status import screen
    from holdfast.cli.render import show

    if sys.stdout.isatty():
        click.clear()
    show(screen(found))
