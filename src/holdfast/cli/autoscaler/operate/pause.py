"""`holdfast autoscaler pause`."""

from pathlib import Path

import click

from holdfast.app.autoscaler.steer import change
from holdfast.autoscaler import operator
from holdfast.cli.autoscaler.session import session
from holdfast.cli.session import options, say, say_json
from holdfast.cli.times import clock, to_come


@click.command(name="pause")
@options
@click.option(
    "--until", "until_s", required=True, callback=to_come, help="A time or a duration: 2h, 14:30, 2026-03-01."
)
@click.option("--why", required=True, help="The reason, for those who read the history.")
def command(config: Path | None, as_json: bool, until_s: float, why: str) -> None:
    """Begin nothing new until then.

    What is open is finished, workers below the floor are still made, and interrupted ones are still
    replaced.  A second pause replaces the first.

    \b
    Example:
      holdfast autoscaler pause --until 2h --why "load test"
    """
    if not why.strip():
        raise click.BadParameter("is empty: say why, for those who read the history", param_hint="--why")
    with session(config, as_json, warns=False) as ours, ours.stores() as stores:
        change(stores.store, lambda cluster, now_s: operator.pause(cluster, until_s, why.strip(), now_s))
        if as_json:
            say_json({"paused": True, "until_s": int(until_s), "why": why.strip()})
        else:
            say(f"Paused until {clock(until_s)}: {why.strip()}")
            say("End it earlier with `holdfast autoscaler resume`.")
