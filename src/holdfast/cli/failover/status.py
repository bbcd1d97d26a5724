"""`holdfast failover status`."""

from pathlib import Path

import click

from holdfast.cli.failover.session import Id, session
from holdfast.cli.session import WRONG, options, say_json
from holdfast.failover.api.operations import AGENT, AGENTS


@click.command(name="status")
@options
@click.argument("agent_id", metavar="[AGENT]", required=False, type=Id())
@click.option(
    "--check", is_flag=True, help="Exit 1 if a group has no primary, or no standby could take over."
)
def command(config: Path | None, as_json: bool, agent_id: str | None, check: bool) -> None:
    """Show each group, or the group AGENT: its primary, its standbys, and what it waits for.

    \b
    Example:
      holdfast failover status
      holdfast failover status db --json
    """
    with session(config, as_json, warns=False) as ours:
        api = ours.api()
        groups = [api.call(AGENT, agent_id=agent_id)] if agent_id else api.call(AGENTS)
        if as_json:
            say_json(groups[0] if agent_id else groups)
        else:
            from holdfast.cli.failover.views.status import screen
            from holdfast.cli.render import show

            show(screen(groups))
        if check and not all(group["healthy"] for group in groups):
            raise SystemExit(WRONG)
