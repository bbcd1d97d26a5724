"""The log of an agreement, the newest at the bottom, where a terminal ends."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from holdfast.cli.leases.history import kind_of
from holdfast.cli.render import QUIET, columns
from holdfast.cli.times import clock
from holdfast.cloud.text import counted
from holdfast.kernel import Event, Logged, Severity

STYLES = {
    Severity.DEBUG: QUIET,
    Severity.INFO: "default",
    Severity.SUCCESS: "green",
    Severity.WARNING: "dark_orange",
    Severity.ERROR: "bold red",
}


def screen(shown: Sequence[Logged], *, hidden: int, empty: bool = False) -> RenderableType:
    """`empty`: the log itself is."""
    if not shown:
        why = "Nothing has happened yet: no worker has started." if empty else "Nothing in the log that fits."
        return Text(why, QUIET)
    table = columns("TIME", "WHAT", "CAP", "WHY", right=("CAP",), fold=("WHAT", "WHY"))
    for logged in shown:
        event = logged.event
        cap = event.numbers.get("max_leases_per_worker")
        table.add_row(
            Text(clock(event.at_s), QUIET), _what(event), "" if cap is None else f"{cap:g}", event.reason
        )
    older = counted(hidden, "older one is", "older ones are")
    more = [Text(f"{older} not shown: raise --limit.", QUIET)] if hidden else []
    return Group(table, *more)


def _what(event: Event) -> Text:
    kind = kind_of(event)
    return Text(kind.told(event.about), STYLES[kind.severity]) if kind else Text(str(event.kind))
