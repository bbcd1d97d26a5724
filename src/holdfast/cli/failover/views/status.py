"""Groups as people look at them: the headline first, then each instance."""

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from holdfast.cli.render import QUIET, columns
from holdfast.cli.times import clock, lasting

STATUSES = {
    "launching": "cyan",
    "running_replica": "",
    "promoting": "bold cyan",
    "running_primary": "bold green",
    "demoting": "yellow",
    "zombie": "magenta",
    "terminating": "red",
    "terminated": QUIET,
}


DAY_S = 86_400.0


def screen(groups: list[Any]) -> RenderableType:
    if not groups:
        return Text("No group yet: `holdfast failover enrol AGENT --out FILE` makes one.", QUIET)
    parts: list[RenderableType] = []
    for group in groups:
        parts += [_headline(group), *_troubles(group), Padding(_members(group), (0, 0, 1, 2))]
    return Group(*parts)


def _headline(group: Any) -> Text:
    text = Text(group["agent_id"], "bold")
    if group["primary"]:
        text.append(f"  {group['primary']} is the primary", "green")
    else:
        text.append("  NO PRIMARY", "bold red")
    text.append(f"  epoch {group['epoch']}, {group['mode'].replace('_', '-')}", QUIET)
    return text


def _troubles(group: Any) -> list[Text]:
    found = []
    if group["degraded"]:
        since = clock(group["degraded"]["since_s"])
        found.append(Text(f"  degraded since {since}: {group['degraded']['reason']}", "bold red"))
    if group["paused_until_s"]:
        found.append(Text(f"  paused until {clock(group['paused_until_s'])}", "yellow"))
    if group["takeover"]:
        found.append(Text(f"  takeover: {group['takeover']['reason']}", "yellow"))
    if group["primary"] and not any(member["ready"] for member in group["members"]):
        found.append(Text("  no standby is ready to take over", "yellow"))
    for unknown in group.get("unknown_members", ()):
        found.append(Text(f"  {unknown} is unknown to the restored database: enrol it again", "bold red"))
    if group["next"]:
        found.append(Text(f"  {group['next']}", QUIET))
    return found


def _members(group: Any) -> RenderableType:
    table = columns(
        "INSTANCE", "STATUS", "FOR", "LEASE", "HEARD", "LAG", "NOTE", right=("FOR",), fold=("NOTE",)
    )
    for member in group["members"]:
        table.add_row(
            Text(member["instance_id"]),
            Text(member["status"], STATUSES[member["status"]]),
            Text(lasting(member["for_s"]), QUIET),
            Text(f"{member['lease_left_s']:.0f} s" if member["lease_left_s"] > 0 else "", "green"),
            Text(_heard(member["silent_s"]), QUIET),
            Text(_lag(member), QUIET),
            Text(_note(member, group["settings"])),
        )
    return table


def _heard(silent_s: float | None) -> str:
    return "never" if silent_s is None else f"{lasting(silent_s)} ago"


def _lag(member: Any) -> str:
    """Of a standby: a primary has none, and that of an instance that serves no more counts for nothing."""
    if member["lag_s"] is None or member["status"] != "running_replica":
        return ""
    return f"{member['lag_s']:g} s"


def _note(member: Any, settings: Any) -> str:
    """Why a standby could not take over, what ails an instance, or when it goes."""
    notes = [f"{member['notice']} notice"] if member["notice"] != "none" else []
    if member["ready"]:
        notes.append("ready")
    elif member["not_ready"]:
        notes.append(member["not_ready"])
    if member["failure"]:
        notes.append(member["failure"])
    if member["status"] == "zombie" and member["demoted_at_s"]:
        kept_s = settings["zombie_retention_days"] * DAY_S
        notes.append(f"kept until {clock(member['demoted_at_s'] + kept_s)[:10]}")
    if member["status"] == "terminating" and member["terminate_at_s"]:
        notes.append(f"ended after {clock(member['terminate_at_s'])}")
    return "; ".join(notes)
