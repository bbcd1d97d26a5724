"""The workers of an app and what they agree on, as one screen."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.cli.leases.history import kind_named
from holdfast.cli.render import QUIET, columns, facts, listed
from holdfast.cli.times import clock
from holdfast.cloud.text import counted
from holdfast.leases.report import AGREED, BEHIND, DEAD, START_ONLY, Status

STYLES = {AGREED: "green", BEHIND: "yellow", DEAD: "red", START_ONLY: QUIET}
PROBLEMS_SHOWN = 5


def screen(status: Status) -> RenderableType:
    return Group(_facts(status), Text(), _workers(status))


def _facts(status: Status) -> Table:
    return facts(
        ("app", Text(f"{status.app} on stream {status.stream}")),
        ("agreed", _agreed(status)),
        ("told to a KCL", Text(str(status.told)) if status.told else None),
        ("counted", _counted(status)),
        ("unread", _unread(status)),
        ("restarting", _restarting(status)),
        ("last change", _change(status)),
        ("look at", listed(status.problems, PROBLEMS_SHOWN, "yellow")),
    )


def _agreed(status: Status) -> Text:
    if status.agreed is None:
        return Text("nothing yet: no worker has started")
    shards, workers = counted(status.shard_count or 0, "shard"), counted(status.worker_count or 0, "worker")
    return Text.assemble((counted(status.agreed, "lease"), "bold"), f" a worker: {shards} / {workers}")


def _counted(status: Status) -> Text:
    shards = "shards could not be counted" if status.shards is None else counted(status.shards, "shard")
    rows = f", {counted(status.lease_rows, 'lease row')}" if status.lease_rows else ""
    expected = f", {counted(status.expected_workers, 'worker')} expected" if status.expected_workers else ""
    return Text(f"{shards}{rows}{expected}")


def _unread(status: Status) -> Text | None:
    if status.agreed is None:
        return None
    if not status.unread:
        return Text("none", "green")
    living = sum(worker.state != DEAD for worker in status.workers)
    if living < status.workers_needed:
        mended = f"{counted(status.workers_needed, 'worker')} needed"
    else:
        mended = "the workers are enough, and must be told more: `exec` restarts them one by one"
    return Text(f"{counted(status.unread, 'shard')}; {mended}", "bold red")


def _restarting(status: Status) -> Text | None:
    if not status.restarting:
        return None
    return Text(
        status.restarting + ("" if status.watched else ", if it lives: `holdfast leases watch` tells")
    )


def _change(status: Status) -> Text | None:
    change = status.change
    if change is None:
        return None
    kind = kind_named(change.kind)
    told = kind.told(change.about) if kind else change.kind
    return Text(f"{clock(change.at_s)}  {told}" + (f": {change.reason}" if change.reason else ""))


def _workers(status: Status) -> RenderableType:
    if not status.workers:
        return Text("No worker has a row.", QUIET)
    known = any(worker.told is not None for worker in status.workers)
    heads = ("WORKER", "STATE", "CAP", *(("TOLD",) if known else ()), "HOLDS", "BEAT", "COUNTS", "UPDATED")
    table = columns(*heads, right=("CAP", "TOLD", "HOLDS", "BEAT"))
    for worker in status.workers:
        told = ("-" if worker.told is None else str(worker.told),) if known else ()
        table.add_row(
            worker.worker_id,
            Text(worker.state, STYLES[worker.state]),
            str(worker.max_leases_per_worker or "-"),
            *told,
            "-" if worker.holds is None else str(worker.holds),
            str(worker.heartbeat or "-"),
            f"{worker.shard_count}/{worker.worker_count}",
            Text(worker.last_update_time, QUIET),
        )
    return table
