"""`holdfast failover recover`."""

from pathlib import Path

import click

from holdfast.cli.failover.session import Id, Session, dry_run, session
from holdfast.cli.session import options, say, say_json
from holdfast.failover.api.operations import RECOVER


@click.command(name="recover")
@options
@click.argument("agent_id", metavar="[AGENT]", required=False, type=Id())
@click.option("--primary", type=Id(), help="Who served last, where the reports do not tell.")
@click.option("--accept-data-loss", is_flag=True, help="Go on although a newer copy may exist.")
@dry_run
def command(
    config: Path | None,
    as_json: bool,
    agent_id: str | None,
    primary: str | None,
    accept_data_loss: bool,
    dry_run: bool,
) -> None:
    """Go on after the database went back in time.

    A database that was restored from a backup knows older epochs than the agents do, so servers that saw
    more of it grant nothing.  Without AGENT, this command works on the database itself and lets them go
    on: each group then finds out from its agents who served last, and raises the epoch above all that
    was heard of.  Where the reports do not tell, the group stays degraded, and with AGENT and --primary
    you decide.

    \b
    Example:
      holdfast failover recover
      holdfast failover recover db --primary db-2
    """
    with session(config, as_json, warns=False) as ours:
        if agent_id is None:
            _database(ours, dry_run, as_json)
            return
        body = {"primary": primary, "accept_data_loss": accept_data_loss, "dry_run": dry_run}
        done = ours.api().call(RECOVER, body, agent_id=agent_id)
        if as_json:
            say_json(done)
            return
        say(done["told"])
        for stranger in done["unknown_members"]:
            say(f"unknown to the database: {stranger}; enrol it again")


AHEAD = 1_000_000_000
"""Further than any server can have seen the database that was lost."""


def _database(ours: Session, dry_run: bool, as_json: bool) -> None:
    from holdfast.app.failover.stores import open_stores
    from holdfast.server.restored.high_water import number

    with open_stores(ours.settings) as stores:
        found = number(stores.groups.change_number())
        wanted = found + AHEAD
        if not dry_run:
            stores.groups.raise_change_number(wanted)
        where = stores.where
    if as_json:
        say_json({"database": where, "change_number": found, "raised_to": wanted, "dry_run": dry_run})
    else:
        would = "would be raised" if dry_run else "is raised"
        say(f"{where}: its change number {would} from {found} to {wanted}; servers go on within seconds.")
