"""`holdfast failover settings`."""

from pathlib import Path
from typing import Any, get_args, get_type_hints

import click
import msgspec

from holdfast.cli.failover.session import agent, dry_run, session
from holdfast.cli.session import options, say, say_json
from holdfast.failover.api import wire
from holdfast.failover.api.operations import AGENT, SETTINGS


@click.command(name="settings")
@options
@agent
@click.argument("changes", metavar="[NAME=VALUE]...", nargs=-1)
@dry_run
def command(
    config: Path | None, as_json: bool, agent_id: str, changes: tuple[str, ...], dry_run: bool
) -> None:
    """Show the settings of the group AGENT, or change those that are named.

    \b
    Example:
      holdfast failover settings db
      holdfast failover settings db mode=manual_replica terminate_wait_seconds=600
    """
    body = dict(map(_change, changes))
    with session(config, as_json, warns=False) as ours:
        api = ours.api()
        if body:
            stored = api.call(SETTINGS, {**body, "dry_run": dry_run}, agent_id=agent_id)
        else:
            stored = api.call(AGENT, agent_id=agent_id)["settings"]
        if as_json:
            say_json(stored)
            return
        if body and dry_run:
            say(f"nothing is changed; the settings of {agent_id} would be:")
        from rich.text import Text

        from holdfast.cli.render import facts, show

        show(facts(*((name, Text(_shown(value))) for name, value in stored.items())))


def _change(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    kinds = get_type_hints(wire.Settings, include_extras=True)
    if not equals or name not in kinds:
        raise click.BadParameter(
            f"{text!r}: write NAME=VALUE; names are {', '.join(kinds)}", param_hint="NAME=VALUE"
        )
    try:
        return name, msgspec.convert(value, kinds[name], strict=False)
    except msgspec.ValidationError as error:
        fix = f"give {' or '.join(get_args(wire.Mode))}" if name == "mode" else wire.fix(str(error))
        raise click.BadParameter(f"{name} = {value!r}: {fix}", param_hint="NAME=VALUE") from error


def _shown(value: object) -> str:
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
