"""`holdfast autoscaler replace`."""

from pathlib import Path

import click

from holdfast.cli.autoscaler.session import owner, session
from holdfast.cli.session import busy, options, say, say_json


@click.command(name="replace")
@click.argument("node")
@options
@click.option("--why", default="", help="The reason, for those who read the history.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and what it would wait for.")
def command(config: Path | None, as_json: bool, node: str, why: str, dry_run: bool) -> None:
    """Replace a worker: a new one joins first, then NODE is drained and ended.

    NODE is the name of a node, or the id of its machine.  The next tick begins.  It needs no window and no
    cool-down; budgets, floors, annotations and the share an hour hold as ever.  If it cannot be done within
    two hours, the worker stays.

    \b
    Example:
      holdfast autoscaler replace ip-10-0-1-17 --why "its disk is slow"
    """
    from holdfast.app.autoscaler.steer import change
    from holdfast.autoscaler.codec import SUBJECT
    from holdfast.autoscaler.disruption import rotation

    said = f"an operator asks: {why.strip()}" if why.strip() else "an operator asks"
    with session(config, as_json, warns=False) as ours:
        with busy("looking around"):
            autoscaler = ours.autoscaler()
            cluster = autoscaler.store.read(SUBJECT).value
            snapshot = autoscaler.snapshot(owner("replace"), cluster)
        worker = rotation.named(cluster, snapshot, node)
        i, now_s = worker.instance_id, autoscaler.clock.now_s()
        waits_for = rotation.waits_for(cluster, snapshot, worker, autoscaler.settings, now_s)
        changed = not dry_run and change(
            autoscaler.store, lambda cluster, now_s: rotation.asked(cluster, i, said, now_s)
        )
        if as_json:
            say_json({"instance": i, "node": worker.node_name, "asked": changed, "waits_for": waits_for})
            return
        machine = "" if worker.node_name == i else f"{i}, "
        where = f"{worker.node_name} ({machine}pool {worker.instance.pool}, zone {worker.instance.zone})"
        if dry_run:
            say(f"{where} would be replaced: a new worker of the same pool and zone joins first.")
        elif changed:
            say(f"{where} is to be replaced: a new worker joins first.")
        else:
            say(f"{where} is being replaced already.")
        if waits_for:
            say(f"  ! it waits, or stays: {waits_for}", fg="yellow")
        if dry_run:
            say("Nothing was touched.")
