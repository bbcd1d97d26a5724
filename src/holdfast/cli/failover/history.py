"""`holdfast failover history`."""

from pathlib import Path

import click

from holdfast.cli.failover.session import agent, session
from holdfast.cli.session import options, say_json
from holdfast.failover.api.operations import HISTORY


@click.command(name="history")
@options
@agent
@click.option(
    "--limit", type=click.IntRange(1, 1_000), default=30, show_default=True, help="The newest so many."
)
@click.option("--after", type=click.IntRange(0), default=0, help="Only events of later versions.")
def command(config: Path | None, as_json: bool, agent_id: str, limit: int, after: int) -> None:
    """Say what happened to the group AGENT, and why, from the log that is written with each change.

    \b
    Example:
      holdfast failover history db --limit 100
    """
    with session(config, as_json, warns=False) as ours:
        found = ours.api().call(HISTORY, agent_id=agent_id, limit=limit, after=after)
        if as_json:
            say_json(found)
            return
        from holdfast.cli.failover.views.history import screen
        from holdfast.cli.render import show

        show(screen(found))
