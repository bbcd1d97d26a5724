"""`holdfast failover pause`."""

import time
from pathlib import Path
from typing import Any

import click

from holdfast.cli.failover.operate.follow import ASK_EVERY_S
from holdfast.cli.failover.session import agent, dry_run, session
from holdfast.cli.session import WRONG, now_s, options, say, say_json
from holdfast.cli.times import clock, to_come
from holdfast.failover.api.operations import AGENT, PAUSE

PAUSE_MAX_S = 30 * 86_400.0
HELD_WITHIN_S = 15.0
SLACK_S = 2.0
NOT_HELD = (
    "The primary has not taken its long lease yet: stop no server before `holdfast failover status` shows it."
)


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
    harm: the command ends once the primary has it.  It also means that no standby takes over if the
    primary is lost.

    \b
    Example:
      holdfast failover pause db --until 30m --why "database upgrade"
    """
    if not why.strip():
        raise click.BadParameter("is empty: say why, for those who read the history", param_hint="--why")
    with session(config, as_json, warns=False) as ours:
        api, for_s = ours.api(), until_s - now_s()
        body = {"for_s": for_s, "why": why.strip(), "dry_run": dry_run}
        paused = api.call(PAUSE, body, agent_id=agent_id)
        if dry_run:
            if as_json:
                say_json(paused)
            else:
                say(f"{agent_id} would be paused until {clock(until_s)}")
            return
        held = long_lease(api, agent_id, for_s)
        if as_json:
            say_json({**paused, "held_by": held})
        else:
            say(f"{agent_id} is paused until {clock(until_s)}: {why.strip()}")
            said = (
                f"{held} has its long lease: servers and database may be stopped now." if held else NOT_HELD
            )
            say(said, err=not held)
            say(f"End it earlier with `holdfast failover resume {agent_id}`.")
        if not held:
            raise SystemExit(WRONG)


def long_lease(api: Any, agent_id: str, for_s: float) -> str | None:
    """The primary, once its lease lasts as long as the pause: only then may its servers rest."""
    end_s = time.monotonic() + HELD_WITHIN_S
    while True:
        waited_s = HELD_WITHIN_S - (end_s - time.monotonic())
        for member in api.call(AGENT, agent_id=agent_id)["members"]:
            if member["status"] == "running_primary" and member["lease_left_s"] >= for_s - waited_s - SLACK_S:
                return str(member["instance_id"])
        if time.monotonic() >= end_s:
            return None
        time.sleep(ASK_EVERY_S)
