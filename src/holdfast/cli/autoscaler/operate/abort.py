"""`holdfast autoscaler abort`."""

from pathlib import Path

import click

from holdfast.app.autoscaler.steer import change
from holdfast.cli.autoscaler.session import session
from holdfast.cli.session import options, say, say_json


@click.command(name="abort")
@options
@click.option("--why", default="", help="The reason, for those who read the history.")
def command(config: Path | None, as_json: bool, why: str) -> None:
    """End the scale-down that is open: nodes that are not terminating yet stay, and are uncordoned.

    What is terminating can only leave.  The next tick lifts the cordons.  The nodes are left alone for
    a while (SKIP_SEC); `pause` keeps it from choosing others.

    \b
    Example:
      holdfast autoscaler abort --why "the batch job needs them"
    """
    from holdfast.autoscaler.codec import SUBJECT
    from holdfast.autoscaler.record import Status
    from holdfast.autoscaler.scale_down.action import give_up

    said = f"aborted by an operator: {why.strip()}" if why.strip() else "aborted by an operator"
    with session(config, as_json, warns=False) as ours, ours.stores() as stores:
        down = stores.store.read(SUBJECT).value.scale_down
        kept = down.having(Status.PLANNED, Status.DRAINED) if down else ()
        leaving = down.having(Status.CONDEMNED) if down else ()
        changed = change(stores.store, lambda cluster, now_s: give_up(cluster, said, ours.settings, now_s))
        if as_json:
            say_json(
                {"aborted": changed, "staying": list(kept if changed else ()), "terminating": list(leaving)}
            )
            return
        if changed:
            say(f"Aborted: {', '.join(kept)} {'stays' if len(kept) == 1 else 'stay'} in service.")
            say("Keep it from choosing others with `holdfast autoscaler pause`.")
        else:
            say("There is no scale-down that could still be aborted.")
        if leaving:
            say(f"Terminating already, and not to be stopped: {', '.join(leaving)}")
