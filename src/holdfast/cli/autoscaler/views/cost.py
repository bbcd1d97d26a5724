"""What the fleet costs, as one screen."""

from collections.abc import Collection, Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.autoscaler.money.ledger import Month
from holdfast.autoscaler.money.shares import FleetCost, NodeCost
from holdfast.autoscaler.report.cost import HOURS_A_MONTH, Cost, by, dearest
from holdfast.cli.render import QUIET, dollars, facts, whole_columns, width
from holdfast.cloud.text import counted, lasting

ROWS_MAX = 20
WORDS = ("POOL", "MARKET", "TYPE")
"""Columns that hold no figures."""
HEADS = ("NODE", "POOL", "TYPE", "MARKET", "AN HOUR", "ON-DEMAND", "REQUESTED")
LEFT_OUT_FIRST = ("POOL", "ON-DEMAND", "MARKET", "TYPE", "REQUESTED")
"""On a narrow terminal.  `--json` has everything."""
NOT_KNOWN = "not known"


def screen(cost: Cost, shown: Collection[str]) -> RenderableType:
    parts: list[RenderableType] = [_summary(cost)]
    tables = {"pool": _pools, "namespace": _namespaces, "workload": _workloads, "node": _nodes}
    if _is_unpriced(cost.fleet):
        tables = {"pool": _pools, "node": _nodes}  # what has no price has no shares
    for name, table in tables.items():
        if name in shown:
            parts += [Text(), table(cost.fleet)]
    return Group(*parts)


def _summary(cost: Cost) -> Table:
    fleet = cost.fleet
    now = f"{dollars(fleet.usd)} an hour, about {dollars(fleet.usd * HOURS_A_MONTH)} a month"
    priced = not _is_unpriced(fleet)
    if not priced:
        now = "what they cost is not known"
    unpriced = (
        f"{counted(len(fleet.unpriced), 'worker')} without a known price: {', '.join(fleet.unpriced[:3])}"
    )
    earlier = next(iter(cost.before.items()), None)
    return facts(
        ("now", Text(f"{counted(len(fleet.nodes), 'worker')}: {now}")),
        ("spot saves", Text(_spot_saves(fleet)) if priced else None),
        ("not requested", Text(_not_requested(fleet)) if priced else None),
        ("not counted", Text(unpriced, style="yellow") if fleet.unpriced else None),
        (cost.month, Text(_month(cost.so_far))),
        (earlier[0], Text(_month(earlier[1]))) if earlier else ("", None),
    )


def _is_unpriced(fleet: FleetCost) -> bool:
    """Whether no machine has a known price."""
    return bool(fleet.nodes) and len(fleet.unpriced) == len(fleet.nodes)


def _not_requested(fleet: FleetCost) -> str:
    return f"{dollars(fleet.wasted_usd)} an hour{_part(fleet.wasted_usd, fleet.usd)}: no pod asks for it"


def _spot_saves(fleet: FleetCost) -> str:
    saved, unknown = fleet.on_demand_usd - fleet.usd, ", ".join(fleet.saving_unknown)
    known = f"{dollars(saved)} an hour{_part(saved, fleet.on_demand_usd)}"
    if not unknown:
        return known
    fix = f"give the on-demand price of {unknown} in usd_per_hour"
    return f"{known}, and more: {fix}" if saved else f"not known: {fix}"


def _saved(part: FleetCost) -> str:
    saved = part.on_demand_usd - part.usd
    return NOT_KNOWN if part.saving_unknown and not saved else dollars(saved)


def _month(month: Month) -> str:
    if not month.seen_s:
        return "nothing noted yet: ticks note it once an hour"
    unseen = f"; not seen for {lasting(month.unseen_s)}" if month.unseen_s else ""
    saved = f", {dollars(month.saved_usd)} saved against on-demand" if month.saved_usd else ""
    return f"{dollars(month.usd)} spent{saved}{unseen}"


def _part(usd: float, of: float) -> str:
    return f" ({usd / of:.0%})" if of else ""


def _table(title: str, *rest: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style=QUIET)
    table.add_column(title)
    for name in rest:
        table.add_column(name, justify="left" if name in WORDS else "right")
    return table


def _pools(fleet: FleetCost) -> Table:
    table = _table("POOL", "MARKET", "WORKERS", "AN HOUR", "SAVED", "NOT REQUESTED")
    for pool, of_pool in by(fleet, lambda node: node.pool):
        for market, part in by(of_pool, lambda node: node.market):
            figures = (dollars(part.usd), _saved(part), dollars(part.wasted_usd))
            if _is_unpriced(part):
                figures = (NOT_KNOWN,) * 3
            table.add_row(pool, market, str(len(part.nodes)), *figures)
    return table


def _namespaces(fleet: FleetCost) -> Table:
    table = _table("NAMESPACE", "AN HOUR", "SHARE")
    for name, share in _first(dearest(fleet.namespaces), fleet.usd):
        table.add_row(name, *share)
    table.add_row(Text("(not requested)", style=QUIET), *_of(fleet.wasted_usd, fleet.usd))
    return table


def _workloads(fleet: FleetCost) -> Table:
    table = _table("WORKLOAD", "AN HOUR", "SHARE")
    named = {f"{namespace}/{workload}": usd for (namespace, workload), usd in fleet.workloads.items()}
    for name, share in _first(dearest(named), fleet.usd):
        table.add_row(name, *share)
    return table


def _nodes(fleet: FleetCost) -> Table:
    rows = [_cells(node) for node in sorted(fleet.nodes, key=lambda each: -(each.usd or 0.0))]
    heads = whole_columns(HEADS, rows, width(), LEFT_OUT_FIRST) if rows else list(HEADS)
    table = _table(*heads)
    for row in rows:
        table.add_row(*(row[head] for head in heads))
    return table


def _cells(node: NodeCost) -> dict[str, Text]:
    return {
        "NODE": Text(node.node or node.instance_id),
        "POOL": Text(node.pool),
        "TYPE": Text(node.instance_type),
        "MARKET": Text(node.market),
        "AN HOUR": Text(dollars(node.usd) if node.usd is not None else NOT_KNOWN),
        "ON-DEMAND": Text(dollars(node.on_demand_usd) if node.on_demand_usd is not None else NOT_KNOWN),
        "REQUESTED": Text(f"{node.requested:.0%}"),
    }


def _first(costs: list[tuple[str, float]], total: float) -> Iterator[tuple[str, tuple[str, str]]]:
    """The dearest, and the others together."""
    for name, usd in costs[:ROWS_MAX]:
        yield name, _of(usd, total)
    if len(costs) > ROWS_MAX:
        yield f"({len(costs) - ROWS_MAX} more)", _of(sum(usd for _, usd in costs[ROWS_MAX:]), total)


def _of(usd: float, total: float) -> tuple[str, str]:
    return dollars(usd), f"{usd / total:.0%}" if total else "-"
