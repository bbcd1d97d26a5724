"""`holdfast autoscaler tick`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.autoscaler.session import WRONG, busy, creating, hint, me, options, say_json, session
from holdfast.cli.autoscaler.times import Seconds, clock

if TYPE_CHECKING:
    from holdfast.autoscaler.tick import Ticked


@click.command(name="tick")
@options
@creating
@click.option(
    "--budget",
    type=Seconds(min=1, max=86_400),
    default=240.0,
    show_default=True,
    help="Seconds after which it stops, wherever it is; the next tick goes on.",
)
def command(config: Path | None, as_json: bool, create_tables: bool, budget: float) -> None:
    """Take one turn, as a Lambda invocation does: look, decide, act, until nothing is left to do now.

    It may be killed at any moment, and may run beside others: the next tick goes on from the
    record.  Exit code 1 if it could not do its work.

    \b
    Example:
      holdfast autoscaler tick --budget 60
    """
    with session(config, as_json) as ours:
        with busy("looking around"):
            autoscaler = ours.autoscaler(create_tables=create_tables)
        until_s = autoscaler.clock.now_s() + budget
        with busy("at work"):
            told = (lambda step: None) if as_json else (lambda step: click.echo(f"  {step}"))
            ticked = autoscaler.tick(me("tick"), until_s=until_s, told=told)
        if as_json:
            say_json(row(ticked))
        else:
            _show(ticked)
    if went_wrong(ticked):
        raise SystemExit(WRONG)


def row(ticked: "Ticked") -> dict[str, Any]:
    """For scripts."""
    names = ("outcome", "why", "steps", "retry_at_s", "problems")
    return {name: getattr(ticked, name) for name in names}


def went_wrong(ticked: "Ticked") -> bool:
    return ticked.outcome in ("refused", "busy") or bool(ticked.problems)


def _show(ticked: "Ticked") -> None:
    again = f", again from {clock(ticked.retry_at_s)}" if ticked.retry_at_s else ""
    click.secho(ticked.outcome, bold=True, nl=False, fg="red" if went_wrong(ticked) else None)
    click.echo(f": {ticked.why}{again}" if ticked.why else again)
    for problem in ticked.problems:
        click.secho(f"  {problem}", fg="red")
    if went_wrong(ticked):
        click.echo(hint(ticked.why), err=True)
