"""`holdfast autoscaler sweep`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.autoscaler.session import owner, session
from holdfast.cli.autoscaler.tick import row, went_wrong
from holdfast.cli.session import WRONG, busy, options, say, say_json

if TYPE_CHECKING:
    from holdfast.autoscaler.report.account import Account
    from holdfast.autoscaler.result import TickResult
    from holdfast.autoscaler.tick import Autoscaler

BUDGET_S = 120.0


@click.command(name="sweep")
@options
@click.option("--dry-run", is_flag=True, help="Only account for everything; touch nothing.")
def command(config: Path | None, as_json: bool, dry_run: bool) -> None:
    """Account for every machine, node and cordon, and clear up what has no owner.

    Every tick sweeps, a few at a time; this takes one now and shows what was found before and
    what is left.  Machines that carry no action of this cluster are counted and never touched.

    \b
    Example:
      holdfast autoscaler sweep --dry-run
    """
    with session(config, as_json) as ours:
        with busy("looking around"):
            autoscaler = ours.autoscaler()
            before = _account(autoscaler)
        if not as_json:
            _show("found", before)
        result, after = None, None
        if not dry_run:
            with busy("sweeping"):
                until_s = autoscaler.clock.now_s() + BUDGET_S
                told = (lambda step: None) if as_json else (lambda step: say(f"  {step}"))
                result = autoscaler.tick(owner("sweep"), until_s=until_s, told=told)
                after = _account(autoscaler)
        if as_json:
            say_json(
                {
                    "found": before.as_json(),
                    "result": row(result) if result else None,
                    "left": after.as_json() if after else None,
                }
            )
        elif result is None or after is None:
            say("Nothing was touched.")
        else:
            _tell(result)
            _show("left", after)
    if result is not None and went_wrong(result):
        raise SystemExit(WRONG)


def _account(autoscaler: "Autoscaler") -> "Account":
    from holdfast.autoscaler.codec import SUBJECT
    from holdfast.autoscaler.report.account import account

    # The cloud is listed first and the record read after: what was begun meanwhile is no orphan.
    snapshot = autoscaler.snapshot(owner("sweep"), autoscaler.store.read(SUBJECT).value)
    cluster = autoscaler.store.read(SUBJECT).value
    return account(cluster, snapshot, autoscaler.settings, autoscaler.clock.now_s())


def _tell(result: "TickResult") -> None:
    say(result.told)
    for problem in result.problems:
        say(f"  {problem}", fg="red")


def _show(word: str, account: "Account") -> None:
    from holdfast.autoscaler.report.account import in_words

    first, *rest = in_words(account)
    say(f"{word}: ", bold=True, nl=False)
    say(first)
    for line in rest:
        say(f"  {line}")
    for trouble in account.troubles:
        say(f"  nothing is swept while {trouble}", fg="yellow")
