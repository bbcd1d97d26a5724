"""`holdfast failover resume`."""

from pathlib import Path

import click

from holdfast.cli.failover.session import agent, dry_run, session
from holdfast.cli.session import options, say, say_json
from holdfast.failover.api.operations import RESUME


@click.command(name="resume")
@options
@agent
@dry_run
def command(config: Path | None, as_json: bool, agent_id: str, dry_run: bool) -> None:
    """End the pause of the group AGENT.  Its primary goes back to short leases."""
    with session(config, as_json, warns=False) as ours:
        resumed = ours.api().call(RESUME, {"dry_run": dry_run}, agent_id=agent_id)
        if as_json:
            say_json(resumed)
        elif not resumed["was_paused"]:
            say(f"{agent_id} was not paused.")
        else:
            say(f"{agent_id} {'would be' if dry_run else 'is'} no longer paused.")
