"""`holdfast autoscaler status`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.autoscaler.session import Session, owner, session
from holdfast.cli.session import WRONG, busy, now_s, options, say_json

if TYPE_CHECKING:
    from holdfast.autoscaler.report.status import Status
    from holdfast.autoscaler.report.unseen import Unseen


@click.command(name="status")
@options
def command(config: Path | None, as_json: bool) -> None:
    """Say what it is doing, why, and what the fleet costs an hour.  Nothing is touched.

    While the cluster or the cloud does not answer, it says what the record knows, and that it
    knows no more; the exit code is 1 then, and `unreachable` stands in the JSON.

    \b
    Example:
      holdfast autoscaler status
      holdfast autoscaler status --json | jq .usd_per_hour
    """
    from holdfast.autoscaler.report.unseen import Unseen

    with session(config, as_json) as ours:
        with busy("looking around"):
            found = look(ours)
        if as_json:
            say_json(found.as_json())
        else:
            from holdfast.cli.autoscaler.views.status import screen, unseen_screen
            from holdfast.cli.render import show, width

            show(unseen_screen(found) if isinstance(found, Unseen) else screen(found, width()))
    if isinstance(found, Unseen):
        raise SystemExit(WRONG)


def look(ours: Session) -> "Status | Unseen":
    """The fleet beside its record; the record alone, if no look is to be had now."""
    from holdfast.autoscaler.codec import SUBJECT
    from holdfast.autoscaler.report.status import status
    from holdfast.autoscaler.report.unseen import unseen
    from holdfast.kernel import Busy, Unknown

    began_s = now_s()
    try:
        autoscaler = ours.autoscaler()
        cluster = autoscaler.store.read(SUBJECT).value
        snapshot = autoscaler.snapshot(owner("status"), cluster)
    except (Busy, Unknown) as error:
        at_s = now_s()
        with ours.stores() as stores:
            cluster = stores.store.read(SUBJECT).value
        return unseen(cluster, ours.settings, at_s, why=str(error), lasted_s=at_s - began_s)
    return status(cluster, snapshot, autoscaler.settings, now_s())
