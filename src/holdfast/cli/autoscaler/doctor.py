"""`holdfast autoscaler doctor`."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.autoscaler.session import BAD_INPUT, WRONG, busy, options, read_toml, say_json

if TYPE_CHECKING:
    from holdfast.app.doctor import Check

SETTINGS = "settings"


@click.command(name="doctor")
@options
def command(config: Path | None, as_json: bool) -> None:
    """Check every setting, table, permission and endpoint, and say how to mend what is wrong.

    Nothing is touched: EC2 is asked by dry runs, Kubernetes by access reviews, DynamoDB by
    writes whose condition can never hold.  Exit code 1 if something is wrong, 2 if the settings
    are.

    \b
    Example:
      holdfast autoscaler doctor
    """
    with busy("asking around"):
        checks = list(all_checks(config))
    wrong = [check for check in checks if check.ok is False]
    if as_json:
        say_json({"ok": not wrong, "checks": [check.as_json() for check in checks]})
    else:
        from holdfast.cli.autoscaler.views.doctor import screen
        from holdfast.cli.render import show

        show(screen(checks))
    if wrong:
        raise SystemExit(BAD_INPUT if any(check.area == SETTINGS for check in wrong) else WRONG)


def all_checks(config: Path | None) -> "Iterator[Check]":
    """The settings first; with wrong ones nothing else can be asked."""
    from holdfast.app.doctor import Check, run_checks
    from holdfast.autoscaler.settings.load import InvalidSettings, load

    try:
        loaded = load(read_toml(config), os.environ)
    except InvalidSettings as refused:
        for problem in refused.problems:
            said, _, fix = problem.partition(": ")
            yield Check(SETTINGS, said, False, fix=fix)
        return
    yield Check(SETTINGS, "all", True, "they make sense, each and together")
    for warning in loaded.warnings:
        yield Check(SETTINGS, "look at", None, warning)
    yield from run_checks(loaded.settings, os.environ)
