"""`holdfast autoscaler cost`."""

import os
from pathlib import Path

import click

from holdfast.cli.autoscaler.session import owner, session
from holdfast.cli.session import busy, options, say_json

ALL = ("pool", "namespace", "workload", "node")


@click.command(name="cost")
@options
@click.option(
    "--by",
    "shown",
    multiple=True,
    type=click.Choice(ALL),
    help="Which tables to show; may be given several times.  Without it: pools and namespaces.",
)
def command(config: Path | None, as_json: bool, shown: tuple[str, ...]) -> None:
    """Say what the fleet costs, who causes it, what spot saves, and what is paid in vain.

    A pod bears the share of its node that it requests, half by CPU and half by memory.  What no
    pod requests is shown as not requested.  The month is noted by the ticks, in UTC.

    \b
    Example:
      holdfast autoscaler cost
      holdfast autoscaler cost --by workload --by node
    """
    from holdfast.app.autoscaler.stores import open_boards
    from holdfast.autoscaler.codec import SUBJECT
    from holdfast.autoscaler.money import ledger
    from holdfast.autoscaler.money.shares import fleet_cost
    from holdfast.autoscaler.report.cost import cost

    with session(config, as_json) as ours:
        with busy("looking around"):
            autoscaler = ours.autoscaler()
            record = autoscaler.store.read(SUBJECT).value
            listings = autoscaler.look(owner("cost"), record)
            noted = open_boards(ours.settings, os.environ).ledger.read(ledger.SUBJECT).value
        fleet = fleet_cost(listings.instances, listings.nodes, listings.pods, listings.prices)
        found = cost(fleet, noted, autoscaler.clock.now_s())
        if as_json:
            say_json(found.as_json())
            return
        from holdfast.cli.autoscaler.views.cost import screen
        from holdfast.cli.render import show

        show(screen(found, shown or ALL[:2]))
