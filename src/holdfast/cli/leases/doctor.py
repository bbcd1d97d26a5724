"""`holdfast leases doctor`."""

import os
from pathlib import Path

import click

from holdfast.cli.doctor import answer, examine
from holdfast.cli.session import options


@click.command(name="doctor")
@options
def command(config: Path | None, as_json: bool) -> None:
    """Check settings, tables, stream, lease table and expected workers; say how to mend what is wrong.

    Nothing is touched.  Exit code 1 if something is wrong, 2 if the settings are.

    \b
    Example:
      holdfast leases doctor
    """
    from holdfast.app.doctor.leases import leases_checks
    from holdfast.leases.settings.load import load

    answer(examine(config, load, lambda settings: leases_checks(settings, os.environ)), as_json)
