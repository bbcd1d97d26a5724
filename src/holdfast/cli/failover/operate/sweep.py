"""`holdfast failover sweep`."""

from pathlib import Path

import click

from holdfast.cli.failover.session import Id, dry_run, session
from holdfast.cli.session import options, say, say_json
from holdfast.failover.api.operations import GONE, SWEEP


@click.command(name="sweep")
@options
@click.option("--gone", metavar="INSTANCE", type=Id(), help="Say that this machine is no more; needs --why.")
@click.option("--why", default="", help="The reason, for those who read the history.")
@dry_run
def command(config: Path | None, as_json: bool, gone: str | None, why: str, dry_run: bool) -> None:
    """End zombies whose retention is over now, and account for every instance.

    Servers do this by themselves; here it is done at once, and told.  Where no cloud can be asked
    (machines = "none"), --gone says that a machine was taken away.

    \b
    Example:
      holdfast failover sweep --dry-run
      holdfast failover sweep --gone db-1 --why "unplugged"
    """
    if gone and not why.strip():
        raise click.BadParameter("is empty: say why, for those who read the history", param_hint="--why")
    with session(config, as_json, warns=False) as ours:
        if gone:
            found = ours.api().call(GONE, {"why": why.strip(), "dry_run": dry_run}, instance_id=gone)
            does = "would be" if dry_run else "is"
            say_json(found) if as_json else say(f"{gone} {does} terminated in the books.")
            return
        found = ours.api().call(SWEEP, {"dry_run": dry_run})
        if as_json:
            say_json(found)
            return
        for row in found["due"]:
            does = "would end" if dry_run else "ends"
            say(f"{does} {row['instance_id']} of {row['agent_id']}: {row['reason']}")
        if not found["due"]:
            say(f"Nothing is due: {found['zombies']} zombies, {found['terminating']} terminating.")
