"""Groups of commands, each in a module of its own that is imported only when it is called."""

import importlib
from collections.abc import Mapping

import click


class Lazy(click.Group):
    """Commands by name.  Help lists them from the summaries, and so loads none of them."""

    def __init__(self, name: str, package: str, summaries: Mapping[str, str], text: str) -> None:
        super().__init__(name, help=text)
        self.package, self.summaries = package, summaries

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.summaries:
            return None
        command: click.Command = importlib.import_module(f"{self.package}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries.items()))
