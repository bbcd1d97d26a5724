"""What every command shares: its options, the settings, plain words for errors, a sign of life.

Exit codes: 0 fine, 1 something is wrong, 2 bad input.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from holdfast.kernel import HoldfastError

if TYPE_CHECKING:
    from holdfast.app.autoscaler.stores import Stores
    from holdfast.autoscaler.settings import Settings
    from holdfast.autoscaler.tick import Autoscaler

WRONG, BAD_INPUT = 1, 2
CONFIG = Path("holdfast.toml")

F = TypeVar("F", bound=Callable[..., Any])


def options(command: F) -> F:
    """`--config` and `--json`, which every command has."""
    command = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")(command)
    return click.option(
        "--config",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="The settings' file.  [default: ./holdfast.toml, if it is there]",
    )(command)


creating = click.option(
    "--create-tables", is_flag=True, help="Make the two DynamoDB tables if they are missing."
)


@dataclass(frozen=True)
class Session:
    settings: "Settings"
    as_json: bool

    def autoscaler(self, *, create_tables: bool = False) -> "Autoscaler":
        from holdfast.app.autoscaler import wiring

        return wiring.assemble(self.settings, os.environ, create_tables=create_tables)

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
    try:
        loaded = _settings(config)
        for warning in loaded.warnings if warns else ():
            click.secho(f"warning: {warning}", fg="yellow", err=True)
        yield Session(loaded.settings, as_json)
    except HoldfastError as error:
        _fail(error, as_json, in_lines)


def _settings(config: Path | None) -> Any:
    from holdfast.autoscaler.settings.load import load

    return load(read_toml(config), os.environ)


def read_toml(config: Path | None) -> dict[str, Any]:
    """The whole file; nothing if there is none.  A file that is no TOML is bad input."""
    import tomllib

    path = config or (CONFIG if CONFIG.exists() else None)
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{path} is no TOML: {error}", param_hint="--config") from error
    except OSError as error:
        raise click.BadParameter(f"{path}: {error.strerror}", param_hint="--config") from error


def _fail(error: HoldfastError, as_json: bool, in_lines: bool) -> NoReturn:
    from holdfast.settings import InvalidSettings

    problems = error.problems if isinstance(error, InvalidSettings) else (str(error),)
    if as_json:
        say_json({"error": type(error).__name__, "problems": list(problems)}, in_line=in_lines)
    for problem in problems:
        click.secho("error: ", fg="red", bold=True, nl=False, err=True)
        click.echo(problem, err=True)
    if not isinstance(error, InvalidSettings):
        click.echo(hint(str(error)), err=True)
    raise SystemExit(BAD_INPUT if isinstance(error, InvalidSettings) else WRONG)


FILE_TROUBLES = (
    "unable to open database file",
    "readonly database",
    "disk is full",
    "disk I/O error",
    "file is not a database",
    "database disk image is malformed",
)
"""What SQLite says, which names no fix."""


def hint(problem: str) -> str:
    """Where to go from here."""
    if "ResourceNotFoundException" in problem:
        return "`holdfast autoscaler tick --create-tables` makes the tables, as does deploy/aws-sam."
    if any(trouble in problem for trouble in FILE_TROUBLES):
        return (
            "`database` must be a file that Holdfast made, or none yet, in a folder that may be written and "
            "whose disk has room."
        )
    if "Unable to locate credentials" in problem:
        return "Sign in to AWS: set AWS_PROFILE or the keys, or run on a machine that has a role."
    return "`holdfast autoscaler doctor` checks what is missing."


def say_json(value: object, *, in_line: bool = False) -> None:
    click.echo(json.dumps(value, indent=None if in_line else 2, default=str))


@contextmanager
def busy(what: str) -> Iterator[None]:
    """A sign of life on a terminal's stderr while something takes long."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


def owner(command: str) -> str:
    """Who we are in the lock and in action ids: drawn anew by every process."""
    from holdfast.adapters.clock import new_id

    return f"{command}-{new_id()[:8]}"


def now_s() -> float:
    from holdfast.adapters.clock import SystemClock

    return SystemClock().now_s()
