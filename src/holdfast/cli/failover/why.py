"""`holdfast failover why`."""

from pathlib import Path

import click

from holdfast.cli.failover.session import agent, session
from holdfast.cli.session import options, say_json
from holdfast.failover.api.operations import WHY


@click.command(name="why")
@options
@agent
def command(config: Path | None, as_json: bool, agent_id: str) -> None:
    """Tell the last change of roles in the group AGENT step by step, and what it waits for now.

    \b
    Example:
      holdfast failover why db
    """
    with session(config, as_json, warns=False) as ours:
        found = ours.api().call(WHY, agent_id=agent_id)
        if as_json:
            say_json(found)
            return
        from holdfast.cli.failover.views.why import screen
        from holdfast.cli.render import show

        show(screen(agent_id, found))
