"""The status, as one screen."""

from collections import Counter

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.autoscaler.report.gauges import STATES as ORDER
from holdfast.autoscaler.report.status import Member, Soon, Status
from holdfast.autoscaler.report.unseen import Unseen
from holdfast.cli.render import PIPE_COLUMNS, QUIET, STATES, columns, dollars, facts, listed, whole_columns
from holdfast.cli.times import lasting
from holdfast.cloud.text import counted

ONE_BY_ONE_MAX = 14
"""More workers than these are shown by pool, zone and type."""
HEADS = ("WORKER", "NODE", "POOL", "ZONE", "TYPE", "MARKET", "STATE", "AGE", "$/HOUR")
LEFT_OUT_FIRST = ("POOL", "MARKET", "TYPE", "NODE", "AGE", "ZONE")
"""On a narrow terminal.  `--json` has everything."""
MODES = {
    "active": "bold white on dark_green",
    "paused": "bold black on yellow",
    "observe": "bold white on blue",
}
DECISIONS = {"scale-up": "green", "scale-down": "cyan", "hold": "default"}


def screen(status: Status, width: int = PIPE_COLUMNS) -> RenderableType:
    workers = _one_by_one(status, width) if len(status.workers) <= ONE_BY_ONE_MAX else _in_groups(status)
    return Group(_head(status), Text(), _body(status), Text(), workers)


def unseen_screen(known: Unseen) -> RenderableType:
    """What the record says while nothing else can be seen."""
    head = Text.assemble(
        (f" {known.cluster} ", "bold"),
        (f" {known.mode} ", MODES[known.mode]),
        f"  {counted(known.workers_at_last_look, 'worker')} at the last look",
        (f"  ({known.min_workers} to {known.max_workers})", QUIET),
    )
    body = facts(
        ("trouble", Text(known.unreachable, "bold red")),
        ("doing", _doing(known)),
        ("why", Text(known.why) if known.why else None),
        ("soon", _soon(known.soon)),
        ("lock", Text(_lock(known), QUIET) if known.lock_owner else None),
    )
    return Group(head, Text(), body)


def _head(status: Status) -> Text:
    there = status.serving + status.starting + status.not_ready + status.without_node
    parts = [f"{status.starting} of them starting"] if status.starting else []
    parts += [f"{status.not_ready} not ready"] if status.not_ready else []
    parts += [f"{status.without_node} without a node"] if status.without_node else []
    workers = ", ".join((counted(there, "worker"), *parts))
    cost = f"{dollars(status.usd_per_hour)} an hour" if status.usd_per_hour is not None else "cost not known"
    return Text.assemble(
        (f" {status.cluster} ", "bold"),
        (f" {status.mode} ", MODES[status.mode]),
        f"  {workers}",
        (f"  ({status.min_workers} to {status.max_workers})", QUIET),
        "  ",
        (cost, "bold"),
    )


def _body(status: Status) -> Table:
    why = Text(status.why or "-")
    if not status.action:
        why = Text.assemble((f"{status.decision}  ", DECISIONS[status.decision]), status.why)
    return facts(
        ("doing", _doing(status)),
        ("why", why),
        ("load", _load(status)),
        ("pods", _pods(status)),
        ("cost", _cost(status)),
        ("consolidation", _chosen(status.consolidation)),
        ("rotation", _chosen(status.rotation)),
        ("soon", _soon(status.soon)),
        ("lock", Text(_lock(status), QUIET) if status.lock_owner else None),
        ("trouble", listed(status.troubles, 4, "bold red")),
        ("to mend", listed(status.problems, 4, "red")),
    )


def _chosen(said: str) -> Text | None:
    return None if said.startswith("off") else Text(said)


def _doing(status: Status | Unseen) -> Text:
    doing, action = Text(status.doing), status.action
    if action:
        doing.append(f"\n{action.action_id}, for {lasting(action.lasted_s)}", QUIET)
    return doing


def _lock(status: Status | Unseen) -> str:
    return f"held by {status.lock_owner}, expires in {lasting(status.lock_left_s)}"


def _load(status: Status) -> Text:
    if status.cpu is None:
        return Text(f"not known: {status.cpu_problem}", "yellow")
    peak = f", at most {status.cpu_peak:.0%} lately" if status.cpu_peak is not None else ""
    return Text.assemble(f"cpu {status.cpu:.0%}{peak}", (f"  by {status.cpu_source or '?'}", QUIET))


def _pods(status: Status) -> Text:
    text = Text("none pending")
    if status.unschedulable:
        would = f"{status.pending} of them a new worker would take"
        text = Text(f"{counted(status.unschedulable, 'pod')} pending, {would}")
    for line in status.unhelped[:3]:
        text.append(f"\nno new worker would help {line}", "yellow")
    if status.unsatisfiable:
        text.append(f"\n{len(status.unsatisfiable)} that no pool could run:", "yellow")
        for line in status.unsatisfiable[:3]:
            text.append(f"\n  {line}", "yellow")
        if len(status.unsatisfiable) > 3:
            text.append(f"\n  … and {len(status.unsatisfiable) - 3} more: `explain` lists them", QUIET)
    return text


def _cost(status: Status) -> Text:
    launches = f"{status.launches_last_hour} of {status.launches_per_hour_max} launches in the last hour"
    if status.usd_per_hour is None:
        unpriced = ", ".join(status.unpriced[:3]) + (" …" if len(status.unpriced) > 3 else "")
        return Text.assemble((f"not known: no price for {unpriced}", "yellow"), f"; {launches}")
    month = f"about ${status.usd_per_hour * 730:,.0f} a month"
    return Text(f"{dollars(status.usd_per_hour)} an hour, {month}; {launches}")


def _soon(soon: tuple[Soon, ...]) -> Text | None:
    lines = tuple(
        f"in {lasting(each.in_s)}: {each.what}{f' ({each.why})' if each.why else ''}" for each in soon
    )
    return listed(lines, 6)


def _one_by_one(status: Status, width: int) -> Table:
    rows = [_cells(member) for member in status.workers]
    heads = whole_columns(
        [head for head in HEADS if any(row[head].plain for row in rows)], rows, width, LEFT_OUT_FIRST
    )
    table = columns(*heads, right=("AGE", "$/HOUR"))
    for row in rows:
        table.add_row(*(row[head] for head in heads))
    return table


def _cells(member: Member) -> dict[str, Text]:
    return {
        "WORKER": Text(member.instance_id),
        "NODE": Text("" if member.node == member.instance_id else member.node),
        "POOL": Text(member.pool),
        "ZONE": Text(member.zone),
        "TYPE": Text(member.instance_type),
        "MARKET": Text(member.market),
        "STATE": Text(member.state, STATES[member.state]),
        "AGE": Text(lasting(member.age_s) if member.age_s else "?"),
        "$/HOUR": Text(dollars(member.usd_per_hour) if member.usd_per_hour != 0 else "-"),
    }


def _in_groups(status: Status) -> Table:
    table = columns(
        "POOL",
        "ZONE",
        "TYPE",
        "MARKET",
        "WORKERS",
        "$/HOUR",
        "STATES",
        right=("WORKERS", "$/HOUR"),
        fold=("STATES",),
    )
    groups: dict[tuple[str, str, str, str], list[Member]] = {}
    for member in status.workers:
        groups.setdefault((member.pool, member.zone, member.instance_type, member.market), []).append(member)
    for key, members in sorted(groups.items()):
        prices = [member.usd_per_hour for member in members]
        known = [price for price in prices if price is not None]
        table.add_row(
            *key,
            str(len(members)),
            dollars(sum(known) if len(known) == len(prices) else None),
            _states(Counter(member.state for member in members)),
        )
    return table


def _states(counted: Counter[str]) -> Text:
    text = Text()
    for state in ORDER:
        if counted[state]:
            text.append(f"{'  ' if text else ''}{counted[state]} {state}", STATES[state])
    return text
