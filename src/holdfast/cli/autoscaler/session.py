"""What every command of the autoscaler shares: its settings, its stores, where to go after an error."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.session import NOT_FOUND, common_hint, is_unconfigured, read_toml, told_plainly, warn

if TYPE_CHECKING:
    from holdfast.adapters.kubernetes.watch.watches import Watches
    from holdfast.app.autoscaler.stores import Stores
    from holdfast.autoscaler.settings import Settings
    from holdfast.autoscaler.tick import Autoscaler

creating = click.option(
    "--create-tables", is_flag=True, help="Make the two DynamoDB tables if they are missing."
)

ANYONES = frozenset({"KUBECONFIG", "REGION"})
"""Variables that shells have for other reasons: they do not say that a cluster was meant."""

SAY_THEMSELVES = ("no channel is set", "no worker has this name", "replace it yourself")
"""Of problems that name their fix, and of which the doctor knows nothing."""


@dataclass(frozen=True)
class Session:
    settings: "Settings"
    as_json: bool

    def autoscaler(self, *, create_tables: bool = False, watches: "Watches | None" = None) -> "Autoscaler":
        from holdfast.app.autoscaler import wiring

        return wiring.assemble(self.settings, os.environ, create_tables=create_tables, watches=watches)

    def stores(self) -> "Stores":
        from holdfast.app.autoscaler.stores import open_stores

        return open_stores(self.settings, os.environ)


@contextmanager
def session(
    config: Path | None, as_json: bool, *, warns: bool = True, in_lines: bool = False
) -> Iterator[Session]:
    """The settings, with warnings on stderr; errors inside become a message and an exit code.

    `in_lines`: of a command whose JSON is one value a line.
    """
    from holdfast.autoscaler.settings.load import SCHEMA, load

    with told_plainly(as_json, hint=hint, in_lines=in_lines):
        loaded = load(read_toml(config), os.environ)
        warn(loaded.warnings if warns else ())
        if is_unconfigured(config) and not (SCHEMA.environment - ANYONES) & os.environ.keys():
            warn((NOT_FOUND,))
        yield Session(loaded.settings, as_json)


def hint(problem: str) -> str:
    """Where to go from here."""
    if "ResourceNotFoundException" in problem:
        return "`holdfast autoscaler tick --create-tables` makes the tables, as does deploy/aws-sam."
    if any(words in problem for words in SAY_THEMSELVES):
        return ""
    return common_hint(problem) or "`holdfast autoscaler doctor` checks what is missing."


def owner(command: str) -> str:
    """Who we are in the lock and in action ids: drawn anew by every process."""
    from holdfast.adapters.clock import new_id

    return f"{command}-{new_id()[:8]}"
