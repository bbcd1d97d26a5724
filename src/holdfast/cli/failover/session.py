"""What every command of failover shares: settings, the server that it asks, where to go after an error."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.session import common_hint, read_toml, told_plainly, warn
from holdfast.kernel import Invalid

if TYPE_CHECKING:
    from holdfast.cli.failover.api import Api
    from holdfast.failover.settings import Settings

SECRET_MODE = 0o077
"""Bits that only its owner may have on a file with a token."""

TOKEN = re.compile(r"[!-~]+")

REFUSED = re.compile(r"\([A-Z_]+\)$")
"""How the message of a refusal ends."""


class Id(click.ParamType[str]):
    """The shape that every id has on the wire, so that a wrong one is told before anything is asked."""

    name = "id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from holdfast.failover.group import ID, ID_SHAPE

        if not ID.fullmatch(value):
            self.fail(f"{value!r} is no id: give {ID_SHAPE}", param, ctx)
        return str(value)


agent = click.argument("agent_id", metavar="AGENT", type=Id())
dry_run = click.option("--dry-run", is_flag=True, help="Say what would be done; change nothing.")


@dataclass(frozen=True)
class Session:
    settings: "Settings"
    as_json: bool

    def api(self) -> "Api":
        """The server, asked with the operator's token."""
        from holdfast.cli.failover.api import Api

        return Api(self.settings.server, read_token(self.settings.token_file), self.settings.ca_file)


@contextmanager
def session(config: Path | None, as_json: bool, *, warns: bool = True) -> Iterator[Session]:
    """The settings, with warnings on stderr; errors inside become a message and an exit code."""
    from holdfast.failover.settings.load import load

    with told_plainly(as_json, hint=hint):
        loaded = load(read_toml(config), os.environ)
        warn(loaded.warnings if warns else ())
        yield Session(loaded.settings, as_json)


def read_token(path: str) -> str:
    file = Path(path)
    try:
        if file.stat().st_mode & SECRET_MODE:
            raise Invalid(f"token_file = {path!r}: others may read it; `chmod 600 {path}`")
        token = file.read_text().strip()
    except UnicodeDecodeError:
        token = "?\n"
    except OSError as error:
        fix = "`holdfast failover clients add NAME` writes one, or name another file in token_file"
        raise Invalid(f"token_file = {path!r}: {error.strerror}; {fix}") from error
    if not token:
        raise Invalid(f"token_file = {path!r} is empty: put an operator's token there")
    if not TOKEN.fullmatch(token):
        raise Invalid(f"token_file = {path!r} holds no token: it must have one word of plain letters")
    return token


def check_writable(path: Path) -> None:
    """Raises Invalid for a file that `secret_file` would refuse.  Nothing is left of the trial."""
    with secret_file(path):
        pass
    path.unlink()


@contextmanager
def secret_file(path: Path) -> Iterator[Callable[[str], None]]:
    """A new file that its owner alone may read, and the function that writes the secret into it.

    It is made before the secret is asked for, because a secret that cannot be written is lost.  If
    anything fails, the file is removed; one that was there before is never touched.
    """
    try:
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise Invalid(f"--out {path} is there already: name another file, or remove it") from None
    except OSError as error:
        fix = "name a file in a folder that may be written"
        raise Invalid(f"--out {path}: {error.strerror}; {fix}") from error

    def write(secret: str) -> None:
        try:
            os.write(made, f"{secret}\n".encode())
            os.fsync(made)
        except OSError as error:
            raise Invalid(f"--out {path}: {error.strerror}; name a file on a disk with room") from error

    try:
        yield write
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(made)


def hint(problem: str) -> str:
    """Where to go from here.  What a server refused needs no doctor: its message says it all."""
    if REFUSED.search(problem):
        return ""
    return common_hint(problem) or "`holdfast failover doctor` checks what is missing."
