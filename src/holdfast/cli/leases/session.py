"""What every command of the leases shares: its settings, and where to go after an error."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.cli.session import common_hint, read_toml, told_plainly, warn
from holdfast.kernel import Invalid

if TYPE_CHECKING:
    from holdfast.leases.settings import Settings


@dataclass(frozen=True)
class Session:
    settings: "Settings"
    as_json: bool


@contextmanager
def session(
    config: Path | None, as_json: bool, *, in_lines: bool = False, **defaults: object
) -> Iterator[Session]:
    """The settings, with warnings on stderr; errors inside become a message and an exit code.

    `defaults`: settings of a command's own, for what neither file nor environment says.
    """
    from holdfast.leases.settings.load import load

    with told_plainly(as_json, hint=hint, in_lines=in_lines):
        toml = read_toml(config)
        said = toml.get("leases", {})
        if isinstance(said, dict):
            toml = {**toml, "leases": {**defaults, **said}}
        loaded = load(toml, os.environ)
        warn(loaded.warnings)
        try:
            yield Session(loaded.settings, as_json)
        except Invalid as error:
            raise (_no_table(loaded.settings) if NO_TABLE in str(error) else error) from error


NO_TABLE = "ResourceNotFoundException"
THROTTLED = ("Throttl", "ThroughputExceeded", "LimitExceeded")
UNREACHED = ("Could not connect", "Connection was closed", "timeout on endpoint", "Connection broken")
"""What botocore says, which names no fix."""


def hint(problem: str) -> str:
    """Where to go from here."""
    if any(word in problem for word in THROTTLED):
        return (
            "AWS takes no more calls for now.  Try again; if it lasts, raise the limits of stream and table."
        )
    if any(word in problem for word in UNREACHED):
        return "Check the network, AWS_REGION and AWS_ENDPOINT_URL, and try again: twice does no harm."
    return common_hint(problem)


def _no_table(settings: "Settings") -> Invalid:
    return Invalid(
        f"there is no table {settings.meta_table_name}, or none for its log: no worker has started yet, and "
        "the first `holdfast leases exec`, `run` or `cap` makes both; else set STREAM_NAME, META_TABLE and "
        "AWS_REGION right"
    )
