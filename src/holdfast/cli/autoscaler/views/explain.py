"""Why nodes stay and pods wait, in words for a tired operator."""

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from holdfast.autoscaler.report.explain import Explanation, NodeVerdict
from holdfast.autoscaler.report.explain_fleet import Condition, FleetVerdict
from holdfast.autoscaler.report.explain_pods import PodVerdict
from holdfast.cli.render import QUIET, columns

YES, NO = ("✔", "green"), ("✘", "red")


def screen(explained: Explanation, *, whole_fleet: bool) -> RenderableType:
    parts: list[RenderableType] = []
    if whole_fleet:
        parts += _fleet(explained.fleet)
    if explained.nodes:
        parts += _nodes(explained.nodes)
    if explained.pods or whole_fleet:
        parts += _pods(explained.pods)
    return Group(*parts)


def _head(text: str, rest: str = "") -> Text:
    return Text.assemble((text, "bold underline"), f"  {rest}" if rest else "")


def _fleet(fleet: FleetVerdict) -> Iterable[RenderableType]:
    yield Text.assemble(("The fleet now: ", "bold"), (fleet.decision, "bold cyan"), f", because {fleet.why}")
    yield Text()
    yield _head("It scales up", "if one of these holds")
    yield _conditions(fleet.reasons_to_scale_up)
    yield Text("  … and all of these:", QUIET)
    yield _conditions(fleet.bars_to_scale_up)
    yield Text()
    yield _head("It scales down", "if all of these hold")
    yield _conditions(fleet.scales_down_only_if)
    yield Text()
    yield _head("Consolidation", fleet.consolidation)
    yield _head("Rotation", fleet.rotation)
    yield Text()


def _conditions(conditions: Iterable[Condition]) -> RenderableType:
    table = columns("", "", "", fold=("",))
    table.show_header = False
    for condition in conditions:
        mark, style = YES if condition.holds else NO
        table.add_row(
            Text(mark, style), condition.name, Text(condition.says, QUIET if condition.holds else "")
        )
    return Padding(table, (0, 0, 0, 2))


def _nodes(nodes: tuple[NodeVerdict, ...]) -> Iterable[RenderableType]:
    free = [node for node in nodes if node.may_leave]
    kept = [node for node in nodes if not node.may_leave]
    yield _head("Nodes", f"{len(free)} may leave, {len(kept)} may not")
    for node in free:
        yield Text.assemble((f"{YES[0]} ", YES[1]), *_called(node), ("  may leave", "green"))
    for node in kept:
        yield Text.assemble((f"{NO[0]} ", NO[1]), *_called(node))
        for blocker in node.blockers:
            pod = f"  {blocker.pod}" if blocker.pod else ""
            yield Padding(Text.assemble((str(blocker.rule), "yellow"), (pod, "bold")), (0, 0, 0, 4))
            yield Padding(Text(blocker.reason), (0, 0, 0, 6))
            yield Padding(Text.assemble(("→ ", "cyan"), blocker.remedy), (0, 0, 0, 6))
    yield Text()


def _called(node: NodeVerdict) -> Iterable[tuple[str, str]]:
    where = ", ".join(
        part
        for part in (node.instance_id if node.instance_id != node.node else "", node.zone, node.pool)
        if part
    )
    yield node.node, "bold"
    yield (f"  {where}" if where else ""), QUIET


def _pods(pods: tuple[PodVerdict, ...]) -> Iterable[RenderableType]:
    waiting = sum(pod.count for pod in pods)
    yield _head("Waiting pods", f"{waiting}" if waiting else "none")
    for pod in pods:
        more = f" and {pod.count - 1} like it" if pod.count > 1 else ""
        mark, style = NO if pod.unsatisfiable or not pod.takers else YES
        owners = f"  of {', '.join(pod.owners[:3])}" if pod.owners and pod.owners != (pod.example,) else ""
        yield Text.assemble((f"{mark} ", style), (pod.example, "bold"), more, (owners, QUIET))
        for taker in pod.takers:
            yield Padding(Text(f"goes to {taker}"), (0, 0, 0, 4))
        if pod.unsatisfiable:
            yield Padding(Text("no pool could ever run it", "yellow"), (0, 0, 0, 4))
        if pod.why:
            yield Padding(Text(pod.why), (0, 0, 0, 4))
        if pod.scheduler:
            yield Padding(Text(f"the scheduler says: {pod.scheduler}", QUIET), (0, 0, 0, 4))
