"""Events as people read them: a table a day."""

from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from holdfast.cli.render import QUIET, columns
from holdfast.cli.times import clock

STYLES = {"debug": QUIET, "info": "", "success": "green", "warning": "yellow", "error": "bold red"}


def screen(events: list[Any]) -> RenderableType:
    if not events:
        return Text("Nothing has happened yet.", QUIET)
    parts: list[RenderableType] = []
    for day, of_day in groupby(events, key=lambda event: clock(event["at_s"])[:10]):
        table = columns("TIME", "RULE", "WHAT", "WHY", right=("RULE",), fold=("WHAT", "WHY"))
        for event in of_day:
            table.add_row(
                Text(clock(event["at_s"])[11:], QUIET),
                Text(str(event["rule"] or ""), QUIET),
                Text(event["told"], STYLES[event["severity"]]),
                Text(event["reason"]),
            )
        parts += [Text(day, "bold"), table]
    return Group(*parts)
