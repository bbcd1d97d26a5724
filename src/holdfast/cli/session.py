"""What every command shares: its options, plain words for errors, a sign of life.

Exit codes: 0 fine, 1 something is wrong, 2 bad input.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from holdfast.cloud.text import plain
from holdfast.kernel import HoldfastError

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


def log_lines_as(*styles: str) -> Callable[[F], F]:
    """`--log-format` with these styles of `holdfast.adapters.logs`; the first is the default."""
    return click.option(
        "--log-format",
        type=click.Choice(styles),
        default=styles[0],
        show_default=True,
        help="How log lines look on stderr.",
    )


log_format = log_lines_as("text", "json")
"""Of every command that runs until it is told to stop."""


@contextmanager
def told_plainly(
    as_json: bool, *, hint: Callable[[str], str] = lambda problem: "", in_lines: bool = False
) -> Iterator[None]:
    """Errors inside become a message with the part's hint, and an exit code.

    `in_lines`: of a command whose JSON is one value a line.
    """
    try:
        yield
    except HoldfastError as error:
        _fail(error, as_json, hint, in_lines)


def warn(warnings: tuple[str, ...]) -> None:
    for warning in warnings:
        say(f"warning: {warning}", fg="yellow", err=True)


def is_unconfigured(config: Path | None) -> bool:
    """No file was named, and there is none here."""
    return config is None and not CONFIG.exists()


NOT_FOUND = (
    f"no {CONFIG} was found in this folder, so all settings come from the environment: "
    "go to the folder that has it, or name it with --config"
)


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


def _fail(error: HoldfastError, as_json: bool, hint: Callable[[str], str], in_lines: bool) -> NoReturn:
    from holdfast.settings import InvalidSettings

    problems = error.problems if isinstance(error, InvalidSettings) else (str(error),)
    if as_json:
        say_json({"error": type(error).__name__, "problems": list(problems)}, in_line=in_lines)
    for problem in problems:
        click.secho("error: ", fg="red", bold=True, nl=False, err=True)
        say(problem, err=True)
    if not isinstance(error, InvalidSettings) and (where := hint(str(error))):
        click.echo(where, err=True)
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


def common_hint(problem: str) -> str:
    """Where to go from here, whatever the part; empty if the part must say it."""
    if any(trouble in problem for trouble in FILE_TROUBLES):
        return (
            "`database` must be a file that Holdfast made, or none yet, in a folder that may be written and "
            "whose disk has room."
        )
    if "Unable to locate credentials" in problem:
        return "Sign in to AWS: set AWS_PROFILE or the keys, or run on a machine that has a role."
    return ""


def say(text: str, **style: Any) -> None:
    """To the terminal, whatever the text was made of.  `style` as `click.secho` knows it."""
    click.secho(plain(text), **style)


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


def now_s() -> float:
    from holdfast.adapters.clock import SystemClock

    return SystemClock().now_s()
