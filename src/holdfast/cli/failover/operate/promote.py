"""`holdfast failover promote`."""

from pathlib import Path

import click

from holdfast.cli.failover.operate.switch import FOLLOW_S, finish
from holdfast.cli.failover.session import Id, dry_run, session
from holdfast.cli.session import options
from holdfast.cli.times import Seconds
from holdfast.failover.api.operations import PROMOTE


@click.command(name="promote")
@options
@click.argument("replica_id", metavar="REPLICA", type=Id())
@click.option("--emergency", is_flag=True, help="Do not ask for its health, and accept more lag.")
@click.option("--accept-data-loss", is_flag=True, help="Promote it however far it lags.")
@click.option(
    "--wait", "wait_s", type=Seconds(0), default=FOLLOW_S, show_default=True, help="Follow it so long."
)
@dry_run
def command(
    config: Path | None,
    as_json: bool,
    replica_id: str,
    emergency: bool,
    accept_data_loss: bool,
    wait_s: float,
    dry_run: bool,
) -> None:
    """Make REPLICA (an instance or a replica id) the primary of its group, and follow it to the end.

    The way out of a group without a primary whose standbys lag: --accept-data-loss says that you know.
    """
    with session(config, as_json, warns=False) as ours:
        api = ours.api()
        body = {"emergency": emergency, "accept_data_loss": accept_data_loss, "dry_run": dry_run}
        asked = api.call(PROMOTE, body, replica_id=replica_id)
        finish(api, asked["agent_id"], asked, 0.0 if dry_run else wait_s, as_json)
