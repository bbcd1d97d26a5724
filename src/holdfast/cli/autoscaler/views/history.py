"""The log, as one screen: the newest at the bottom, where a terminal ends."""

from collections.abc import Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.report.messages import COST, figures, reason, severity, told
from holdfast.autoscaler.settings import Settings
from holdfast.cli.render import QUIET, columns, dollars, facts
from holdfast.cli.times import clock, zone_of
from holdfast.cloud.text import counted
from holdfast.kernel import Event, Logged, Severity

STYLES = {
    Severity.DEBUG: QUIET,
    Severity.INFO: "default",
    Severity.SUCCESS: "green",
    Severity.WARNING: "dark_orange",
    Severity.ERROR: "bold red",
}


def screen(
    cluster: Cluster, settings: Settings, every: Sequence[Logged], shown: Sequence[Logged], *, hidden: int
) -> RenderableType:
    return Group(_now(cluster, settings, every), Text(), *_days(shown), *_foot(shown, hidden))


def _now(cluster: Cluster, settings: Settings, every: Sequence[Logged]) -> Table:
    """As the record has it: neither cloud nor cluster was asked."""
    action = cluster.scale_up or cluster.scale_down
    doing = "nothing"
    if action is not None:
        doing = f"{'scaling up' if cluster.scale_up else 'scaling down'}: {action.action_id}"
    if cluster.interrupted:
        doing += f"; {len(cluster.interrupted)} with a notice"
    why = cluster.scale_up.reason if cluster.scale_up else "" if cluster.scale_down else cluster.hold_reason
    look = f"{counted(cluster.worker_count, 'worker')} at the last look"
    if not cluster.cluster_uid and not cluster.worker_count:
        look = "not looked at yet"
    return facts(
        ("cluster", Text(f"{settings.cluster_name}, {look}")),
        ("doing", Text(doing)),
        ("why", Text(why) if why else None),
        ("cost", Text(_cost(every))),
    )


def _cost(every: Sequence[Logged]) -> str:
    priced = [logged.event for logged in every if COST in logged.event.numbers]
    if not priced:
        return "not known: no event tells a price yet"
    last = priced[-1]
    return f"{dollars(last.numbers[COST])} an hour at {clock(last.at_s)}"


def _days(shown: Sequence[Logged]) -> list[RenderableType]:
    """A table a day: dates are not repeated in every line."""
    parts: list[RenderableType] = []
    for day, of_day in groupby(shown, key=lambda logged: clock(logged.event.at_s)[:10]):
        rows = list(of_day)
        table = columns(f"TIME ({zone_of(rows[0].event.at_s)})", "WHAT", "WHY", fold=("WHAT", "WHY"))
        for logged in rows:
            event = logged.event
            table.add_row(
                Text(clock(event.at_s)[11:19], QUIET), Text(told(event), _style(event)), _why(event)
            )
        parts += [Text(day, "bold"), table]
    return parts


def _why(event: Event) -> Text:
    text = Text(reason(event))
    numbers = figures(event)
    if numbers:
        text.append(f"{'  ' if text else ''}{numbers}", QUIET)
    return text


def _style(event: Event) -> str:
    return STYLES[severity(event)]


def _foot(shown: Sequence[Logged], hidden: int) -> list[RenderableType]:
    if not shown:
        return [Text("Nothing in the log that fits.", QUIET)]
    if hidden:
        older = counted(hidden, "older one is", "older ones are")
        return [Text(f"{older} not shown: raise --limit.", QUIET)]
    return []
