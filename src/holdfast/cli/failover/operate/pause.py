"""`holdfast failover pause`."""

from pathlib import Path

import click

from holdfast.cli.failover.session import agent, dry_run, session
from holdfast.cli.session import now_s, options, say_json
from holdfast.cli.times import clock, to_come
from holdfast.failover.api.operations import PAUSE

PAUSE_MAX_S = 30 * 86_400.0


def _until(ctx: click.Context, param: click.Parameter, value: str) -> float:
    until_s = to_come(ctx, param, value)
    if until_s - now_s() > PAUSE_MAX_S:
        raise click.BadParameter(f"{value!r} is too far ahead: a pause lasts 30 days at most")
    return until_s


@click.command(name="pause")
@options
@agent
@click.option("--until", "until_s", required=True, callback=_until, help="A time or a duration: 30m, 14:30.")
@click.option("--why", required=True, help="The reason, for those who read the history.")
@dry_run
def command(
    config: Path | None, as_json: bool, agent_id: str, until_s: float, why: str, dry_run: bool
) -> None:
    """No change of roles in the group AGENT until then.

    The primary is given one long lease, so that servers and database may be stopped meanwhile without
    harm.  It also means that no standby takes over if the primary is lost.

    \b
    Example:
      holdfast failover pause db --until 30m --why "database upgrade"
    """
    if not why.strip():
        raise click.BadParameter("is empty: say why, for those who read the history", param_hint="--why")
    with session(config, as_json, warns=False) as ours:
        body = {"for_s": until_s - now_s(), "why": why.strip(), "dry_run": dry_run}
        paused = ours.api().call(PAUSE, body, agent_id=agent_id)
        if as_json:
            say_json(paused)
        elif dry_run:
            click.echo(f"{agent_id} would be paused until {clock(until_s)}")
        else:
            click.echo(f"{agent_id} is paused until {clock(until_s)}: {why.strip()}")
            click.echo(f"End it earlier with `holdfast failover resume {agent_id}`.")
