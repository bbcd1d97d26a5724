"""The last change of roles: each step with how long after the first it came."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from holdfast.cli.failover.views.history import STYLES
from holdfast.cli.render import QUIET, columns
from holdfast.cli.times import clock


def screen(agent_id: str, found: Any) -> RenderableType:
    parts: list[RenderableType] = [Text(found["told"], "bold")]
    if found["steps"]:
        first_s = found["steps"][0]["at_s"]
        table = columns("AFTER", "RULE", "WHAT", "WHY", right=("AFTER", "RULE"), fold=("WHAT", "WHY"))
        for step in found["steps"]:
            table.add_row(
                Text(f"{step['at_s'] - first_s:.1f} s", QUIET),
                Text(str(step["rule"] or ""), QUIET),
                Text(step["told"], STYLES[step["severity"]]),
                Text(step["reason"]),
            )
        parts += [Text(f"{agent_id}, from {clock(first_s)}", QUIET), table]
    if found["next"]:
        parts.append(Text(f"now: {found['next']}"))
    return Group(*parts)
