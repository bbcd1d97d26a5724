"""`holdfast failover revive`."""

from pathlib import Path

import click

from holdfast.cli.failover.session import Id, dry_run, session
from holdfast.cli.session import options, say, say_json
from holdfast.failover.api.operations import REVIVE


@click.command(name="revive")
@options
@click.argument("instance_id", metavar="INSTANCE", type=Id())
@click.option("--why", required=True, help="The reason, for those who read the history.")
@dry_run
def command(config: Path | None, as_json: bool, instance_id: str, why: str, dry_run: bool) -> None:
    """Make the zombie INSTANCE a standby again, once what broke it is mended.

    A promotion that failed leaves a zombie, which is never promoted again by itself.  If it holds the last
    good copy, this is the way out.

    \b
    Example:
      holdfast failover revive db-2 --why "the hook is mended"
    """
    if not why.strip():
        raise click.BadParameter("is empty: say why, for those who read the history", param_hint="--why")
    with session(config, as_json, warns=False) as ours:
        revived = ours.api().call(REVIVE, {"why": why.strip(), "dry_run": dry_run}, instance_id=instance_id)
        if as_json:
            say_json(revived)
        elif revived["was_zombie"]:
            may = "could" if dry_run else "may"
            say(f"{instance_id} {may} be promoted again, as soon as it is ready.")
        else:
            say(f"{instance_id} is a standby already.")
