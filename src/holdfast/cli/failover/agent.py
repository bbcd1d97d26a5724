"""`holdfast failover agent`: becomes `python -m holdfast.agent`, which needs the standard library only."""

import os
import sys

import click

PASSED_ON = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


@click.command(name="agent", context_settings=PASSED_ON)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Run beside what is protected, on each of its machines."""
    # In the place of this process: an agent lives long, and the packages of the command line are large.
    os.execv(sys.executable, [sys.executable, "-m", "holdfast.agent", *arguments])
