"""`holdfast autoscaler doctor`."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.doctor import answer, examine
from holdfast.cli.session import options

if TYPE_CHECKING:
    from holdfast.app.doctor import Check


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
    answer(all_checks(config), as_json)


def all_checks(config: Path | None) -> "Iterator[Check]":
    from holdfast.app.doctor import run_checks
    from holdfast.autoscaler.settings.load import load

    return examine(config, load, lambda settings: run_checks(settings, os.environ))
