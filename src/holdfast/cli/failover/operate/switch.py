"""`holdfast failover switch`."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli.failover.operate.follow import follow, quiet, say_step
from holdfast.cli.failover.session import Id, agent, dry_run, session
from holdfast.cli.session import WRONG, options, say, say_json
from holdfast.cli.times import Seconds
from holdfast.failover.api.operations import SWITCH

FOLLOW_S = 300.0


@click.command(name="switch")
@options
@agent
@click.option("--to", type=Id(), help="The candidate.  [default: the best one; launched if there is none]")
@click.option("--accept-data-loss", is_flag=True, help="Take a candidate that lags, or whose lag is unknown.")
@click.option(
    "--wait", "wait_s", type=Seconds(0), default=FOLLOW_S, show_default=True, help="Follow it so long."
)
@dry_run
def command(
    config: Path | None,
    as_json: bool,
    agent_id: str,
    to: str | None,
    accept_data_loss: bool,
    wait_s: float,
    dry_run: bool,
) -> None:
    """Hand the role of the primary of AGENT over, and follow it to the end.

    The old primary stops first, the candidate catches up, and then it is promoted.  If it fails, the old
    one is reinstated.  Each rejected candidate is named with its reason.

    \b
    Example:
      holdfast failover switch db --to i-0abc --dry-run
      holdfast failover switch db
    """
    with session(config, as_json, warns=False) as ours:
        api = ours.api()
        body = {"to": to, "accept_data_loss": accept_data_loss, "dry_run": dry_run}
        asked = api.call(SWITCH, body, agent_id=agent_id)
        finish(api, agent_id, asked, 0.0 if dry_run else wait_s, as_json)


def _tell_candidates(asked: Any) -> None:
    for rejected in asked["rejected"]:
        say(f"not {rejected['instance_id']}: {rejected['reason']}", err=True)
    chosen = asked["candidate"] or "a machine that is yet to be launched"
    say(f"{'would go' if asked['dry_run'] else 'goes'} to {chosen}", err=True)


def finish(api: Any, agent_id: str, asked: Any, wait_s: float, as_json: bool) -> None:
    """Say what was asked for; follow it, unless `wait_s` is 0, and exit 1 if no other one serves then."""
    if not as_json:
        _tell_candidates(asked)
    if not wait_s:
        if as_json:
            say_json(asked)
        return
    group = follow(api, agent_id, asked["version"], wait_s, quiet if as_json else say_step)
    done = group["settled"] and group["primary"] not in (None, asked["old"])
    if as_json:
        say_json({**asked, "done": done, "group": group})
    elif done:
        say(f"{group['primary']} is the primary of {agent_id}.")
    elif group["settled"]:
        say(f"It failed: {group['primary'] or 'no instance'} is the primary of {agent_id}.", err=True)
    else:
        say(f"Not done after {wait_s:g} s; it goes on. `holdfast failover why {agent_id}`", err=True)
    if not done:
        raise SystemExit(WRONG)
