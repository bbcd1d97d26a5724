"""`holdfast autoscaler tick`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.autoscaler.session import creating, hint, owner, session
from holdfast.cli.session import WRONG, busy, options, say, say_json
from holdfast.cli.times import Seconds, clock

if TYPE_CHECKING:
    from holdfast.autoscaler.result import TickResult


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
    from holdfast.app.autoscaler.after_tick import after_tick

    with session(config, as_json) as ours:
        with busy("looking around"):
            autoscaler = ours.autoscaler(create_tables=create_tables)
        until_s = autoscaler.clock.now_s() + budget
        with busy("at work"):
            told = (lambda step: None) if as_json else (lambda step: say(f"  {step}"))
            name = owner("tick")
            result = autoscaler.tick(name, until_s=until_s, told=told)
            after_tick(autoscaler.settings, os.environ).run(result, name)
        if as_json:
            say_json(row(result))
        else:
            _show(result)
    if went_wrong(result):
        raise SystemExit(WRONG)


def row(result: "TickResult") -> dict[str, Any]:
    """For scripts."""
    names = ("outcome", "why", "code", "steps", "retry_at_s", "problems")
    return {name: getattr(result, name) for name in names}


def went_wrong(result: "TickResult") -> bool:
    return result.outcome.failed or bool(result.problems)


def _show(result: "TickResult") -> None:
    again = f", again from {clock(result.retry_at_s)}" if result.retry_at_s else ""
    say(result.outcome, bold=True, nl=False, fg="red" if went_wrong(result) else None)
    say(f": {result.why}{again}" if result.why else again)
    for problem in result.problems:
        say(f"  {problem}", fg="red")
    if went_wrong(result):
        say(hint(result.why), err=True)
