"""Groups of commands, each in a module of its own that is imported only when it is called."""

import errno
import importlib
import json
import os
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import click

AS_JSON = "holdfast.as_json"
"""In a context's `meta`: whether JSON was asked for, whatever else they asked for."""

ALIKE_MIN: Final = 0.6
UNWRITABLE: Final = frozenset({errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What a reader that has left, or a full disk, does to the output."""


class Lazy(click.Group):
    """Commands by name.  Help lists them from the summaries, and so loads none of them."""

    def __init__(
        self,
        name: str,
        package: str,
        summaries: Mapping[str, str],
        text: str,
        folders: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`folders`: commands whose module stands in a folder of the package, and in which."""
        super().__init__(name, help=text, context_settings={"help_option_names": ["-h", "--help"]})
        self.package, self.summaries, self.folders = package, summaries, folders

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.summaries:
            return None
        folder = f"{self.folders[cmd_name]}." if cmd_name in self.folders else ""
        module = f"{self.package}.{folder}{cmd_name.replace('-', '_')}"
        command: click.Command = importlib.import_module(module).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.summaries and not args[0].startswith("-"):
            ctx.fail(f"there is no command {args[0]!r}{self._meant(ctx, args[0])}")
        return super().resolve_command(ctx, args)

    def _meant(self, ctx: click.Context, word: str) -> str:
        """The command that may have been meant, of this group or of one below it."""
        import difflib

        there = {name: f"{ctx.command_path} {name}" for name in self.summaries}
        for name in self.summaries:
            below = self.get_command(ctx, name)
            if isinstance(below, Lazy):
                there = {**{each: f"{ctx.command_path} {name} {each}" for each in below.summaries}, **there}
        found = difflib.get_close_matches(word, there, 1, ALIKE_MIN)
        return f": did you mean `{there[found[0]]}`?" if found else f"; see `{ctx.command_path} --help`"

    def main(self, *args: Any, **extra: Any) -> Any:
        """Output that cannot be written ends the command with a message, not with a traceback."""
        try:
            try:
                return super().main(*args, **extra)
            finally:
                sys.stdout.flush()
        except OSError as error:
            if error.errno not in UNWRITABLE:
                raise
            # What is still buffered would fail again when the interpreter ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if error.errno != errno.EPIPE:
                click.echo(f"error: the output cannot be written: {error.strerror}", err=True)
            raise SystemExit(1) from error

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[AS_JSON] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """What was asked wrongly is told on stderr; a script that reads JSON finds it on stdout too."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            if ctx.meta.pop(AS_JSON, False):  # once: groups lie inside each other
                click.echo(json.dumps({"error": "UsageError", "problems": [error.format_message()]}))
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries.items()))
