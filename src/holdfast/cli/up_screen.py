"""How the demo looks in a terminal."""

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from holdfast.cli.up_fleet import fleet
from holdfast.cloud.text import counted
from holdfast.failover.roles import Status
from holdfast.sim.demo import Demo, clock
from holdfast.sim.failover.scale import LEASE_S
from holdfast.sim.failover.server import SUBJECT

ROLES = {
    Status.LAUNCHING: "blue",
    Status.REPLICA: "cyan",
    Status.PROMOTING: "green",
    Status.PRIMARY: "bold green",
    Status.DEMOTING: "yellow",
    Status.ZOMBIE: "grey50",
    Status.TERMINATING: "red",
    Status.TERMINATED: "grey30",
}
KINDS = {
    "kill -9": "bold red",
    "resumed": "bold green",
    "beginScaleUp": "bright_blue",
    "extendScaleUp": "bright_blue",
    "joined": "bright_blue",
    "completeScaleUp": "bold bright_blue",
    "launchRefused": "dark_orange",
    "beginScaleDown": "yellow",
    "completeScaleDown": "bold yellow",
    "interrupted": "magenta",
    "reclaimed": "magenta",
    "terminating": "red",
    "revoked": "yellow",
    "promoted": "green",
    "shardsUnread": "bold yellow",
    "drainSkipped": "cyan",
    "decision": "grey50",
}


KEYS = "k kill a process   n spot notice   b burst of load   space pause   + faster   - slower   q quit"


def screen(
    demo: Demo, *, speed: float, paused: bool, message: str, keys: bool, events: int
) -> RenderableType:
    head = Text.assemble(
        (" Holdfast ", "bold white on dark_green"),
        f"  virtual time {clock(demo.world.now)}   speed {speed:g}   seed {demo.world.seed}   ",
        ("paused   ", "bold") if paused else "",
        (counted(demo.struck, "fault"), "yellow"),
        f"   {counted(demo.kills, 'kill')}   {counted(demo.told, 'event')}   ",
        ("nothing broke", "green")
        if not demo.accidents
        else (f"{len(demo.accidents)} ACCIDENTS", "bold red"),
    )
    foot = Text(KEYS, style="grey50") if keys else Text("")
    return Group(
        head,
        _scaling(demo),
        _side_by_side(_taking_over(demo), _agreeing(demo)),
        _events(demo, events),
        Text(message, style="bold red"),
        foot,
    )


def _side_by_side(left: RenderableType, right: RenderableType) -> Table:
    row = Table.grid(expand=True)
    row.add_column(ratio=1)
    row.add_column(ratio=1)
    row.add_row(left, right)
    return row


def _panel(title: str, body: RenderableType, next_step: str) -> Panel:
    return Panel(Group(body, Text.assemble(("next: ", "grey50"), next_step)), title=title, title_align="left")


def _scaling(demo: Demo) -> Panel:
    return _panel(demo.scaling.name, fleet(demo.scaling), demo.scaling.next_step())


def _taking_over(demo: Demo) -> Panel:
    groups, hosts = demo.taking_over.groups, demo.taking_over.hosts
    group, look = groups.read(SUBJECT).value, groups.look(SUBJECT)
    leases = {row.instance_id: row.lease_until_s - look.now_s for row in look.rows}
    rows = Table.grid(padding=(0, 2))
    for member in group.members:
        host = hosts.get(member.instance_id)
        serving = "serving" if host and host.serves else ""
        bar = "▮" * min(10, round(10 * max(0.0, leases.get(member.instance_id, 0.0)) / LEASE_S))
        notice = "" if member.notice == "none" else f"{member.notice}!"
        style = ROLES[member.status]
        rows.add_row(
            Text(member.instance_id, style), Text(member.status.name, style), Text(serving, "green"),
            Text(f"lease {bar:<10}", "grey70"), Text(notice, "bold red"),
        )  # fmt: skip
    state = f"epoch {group.epoch}   " + (
        f"takeover from {group.takeover.old or 'none'}: {group.takeover.reason}"
        if group.takeover
        else "no takeover open"
    )
    return _panel("taking over", Group(rows, Text(state, style="grey70")), demo.taking_over.next_step())


def _agreeing(demo: Demo) -> Panel:
    agreeing = demo.agreeing
    agreed = agreeing.store.read("my-app_coordinator").value
    rows = Table.grid(padding=(0, 2))
    for worker, cap in sorted(agreeing.workers.items()):
        current = cap == agreed.max_leases_per_worker
        rows.add_row(worker, Text(f"cap {cap or '-'}", style="green" if current else "yellow"))
    view = agreed.view
    told = (
        f"{counted(view.shards, 'shard')} / {counted(view.workers, 'worker')} → {view.max_leases_per_worker}"
        if view
        else "nothing yet"
    )
    unread = (
        f"   {counted(view.unread, 'shard')} unread: {counted(view.workers_needed, 'worker')} needed"
        if view and view.unread
        else ""
    )
    true = counted(agreeing.stream.shards, "shard"), counted(len(agreeing.workers), "worker")
    truth = f"true now: {', '.join(true)}"
    body = Group(
        rows, Text(f"agreed: {told}"), Text(unread or truth, style="bold yellow" if unread else "grey70")
    )
    return _panel("agreeing on the cap", body, agreeing.next_step())


def _events(demo: Demo, count: int) -> Panel:
    rows = Table.grid(padding=(0, 2))
    for line in demo.story[-count:]:
        style = KINDS.get(line.kind, "")
        rows.add_row(
            Text(clock(line.at_s), "grey50"),
            Text(line.part, "grey70"),
            Text(line.kind, style),
            Text(line.text, style),
        )
    return Panel(rows, title="events", title_align="left", height=count + 2)
