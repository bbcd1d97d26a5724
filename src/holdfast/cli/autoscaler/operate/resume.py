"""`holdfast autoscaler resume`."""

from pathlib import Path

import click

from holdfast.app.autoscaler.steer import change
from holdfast.autoscaler import operator
from holdfast.cli.autoscaler.session import session
from holdfast.cli.session import options, say, say_json


@click.command(name="resume")
@options
def command(config: Path | None, as_json: bool) -> None:
    """End a pause before its time.

    \b
    Example:
      holdfast autoscaler resume
    """
    with session(config, as_json, warns=False) as ours, ours.stores() as stores:
        was_paused = change(stores.store, operator.resume)
        if as_json:
            say_json({"paused": False, "was_paused": was_paused})
        else:
            say("Resumed." if was_paused else "It was not paused.")
