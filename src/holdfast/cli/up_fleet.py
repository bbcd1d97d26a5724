"""How the fleet looks in a terminal: machines by zone, what runs on them, and what is being done."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.autoscaler.codec import phase
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.report.gauges import launched_last_hour, state_of
from holdfast.autoscaler.snapshot import Snapshot, Worker
from holdfast.cloud import Market, NoticeKind, State
from holdfast.sim.kubernetes.pods import Owned
from holdfast.sim.scenarios import Scaling

LOOKS = {
    "serving": "green",
    "joining": "bright_blue",
    "not-ready": "grey50",
    "cordoned": "cyan",
    "draining": "yellow",
    "interrupted": "bold magenta",
    "terminating": "bold red",
    "leaving": "grey37",
}
POD, POD_LEAVING = "●", "○"


def fleet(scaling: Scaling) -> RenderableType:
    snapshot, cluster = scaling.snapshot(), scaling.record
    return Group(_zones(scaling, snapshot, cluster), _figures(scaling, snapshot, cluster), _action(cluster))


def _zones(scaling: Scaling, snapshot: Snapshot, cluster: Cluster) -> Table:
    rows = Table.grid(padding=(0, 1))
    rows.add_column(no_wrap=True)
    rows.add_column()
    there = [worker for worker in snapshot.workers if worker.instance.state is not State.TERMINATED]
    for zone in scaling.cloud.zones:
        row = Text()
        for worker in sorted(there, key=lambda worker: (worker.instance.launched_s, worker.instance_id)):
            if worker.instance.zone == zone:
                row.append_text(_machine(scaling, cluster, worker))
        rows.add_row(Text(f"zone {zone}", "grey70"), row)
    return rows


def _machine(scaling: Scaling, cluster: Cluster, worker: Worker) -> Text:
    """Its kind, its id, a dot for each pod, and what is going on with it."""
    state = state_of(cluster, worker)
    style = LOOKS[state]
    mark = "■" if worker.instance.market is Market.SPOT else "◆"
    shown = Text.assemble((f"{mark} {worker.instance_id.removeprefix('i-')} ", style))
    node = scaling.cluster.by_name.get(worker.node_name)
    for pod in node.pods.values() if node is not None else ():
        if pod.workload.kind is not Owned.DAEMON_SET:
            shown.append(POD_LEAVING if pod.deleting_s else POD, "white" if pod.ready else "grey50")
    affected = cluster.interruption_of(worker.instance_id)
    if affected is not None and affected.kind is NoticeKind.INTERRUPTION:
        state = f"{max(0, affected.deadline_s - scaling.world.now):.0f} s left"
    if state != "serving":
        shown.append(f" {state}", style)
    shown.append("   ")
    shown.no_wrap = True
    return shown


def _figures(scaling: Scaling, snapshot: Snapshot, cluster: Cluster) -> Text:
    settings, waiting = scaling.settings, len(scaling.cluster.waiting)
    alive = [worker for worker in snapshot.workers if worker.alive]
    pods = scaling.cluster.everything.values()
    running = sum(pod.ready and pod.workload.kind is not Owned.DAEMON_SET for pod in pods)
    cpu = "unknown" if snapshot.load.cpu is None else f"{snapshot.load.cpu:.0%}"
    usd = snapshot.usd_per_hour()
    return Text.assemble(
        (f"{len(alive)} workers", "bold"),
        f" ({settings.min_workers} to {settings.max_workers})   {running} pods run, ",
        (f"{waiting} wait", "bold yellow" if waiting else "grey70"),
        f"   cpu {cpu}   ",
        f"${usd:.2f}" if usd is not None else "$?",
        f" an hour   {launched_last_hour(cluster, scaling.world.now)} launches in the last one",
        ("   ■ spot  ◆ on-demand", "grey50"),
    )


def _action(cluster: Cluster) -> Text:
    up, down = cluster.scale_up, cluster.scale_down
    lock = f"   lock {cluster.lock.owner}" if cluster.lock.owner else ""
    if up is not None:
        done = f"{len(up.joined)} of {up.requested} joined, {len(up.joining)} on their way"
        return Text.assemble(("scaling up  ", "bold bright_blue"), f"{up.action_id}  {done}{lock}")
    if down is not None:
        targets = ", ".join(f"{t.instance_id} {t.status.value}" for t in down.targets)
        return Text.assemble(
            ("scaling down  ", "bold yellow"), f"{down.action_id}  {phase(down)}  {targets}{lock}"
        )
    return Text.assemble(("no action open  ", "grey70"), (f"{cluster.hold_reason}{lock}", "grey70"))
