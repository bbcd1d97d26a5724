"""The command line: one module a command, each imported only when it is called."""

import importlib

import click

COMMANDS = {
    "up": "Watch the three workflows live in the simulated world.",
    "sim": "Live through one seed of the simulated world, and judge it.",
}


class _Lazy(click.Group):
    """Commands by name; a command's module is imported when it is needed, and no other."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"holdfast.cli.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=_Lazy)
@click.version_option(package_name="holdfast")
def main() -> None:
    """Holdfast keeps spot fleets on AWS standing."""
