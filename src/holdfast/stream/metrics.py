"""A live worker's numbers for Prometheus, as its text format has them.

Written by hand: a worker's process ought to stay small, and these are ten lines.
"""

from collections.abc import Mapping
from typing import Final

from holdfast.leases.alarm import leases_to_hold, unread_now, workers_needed
from holdfast.leases.cap import View
from holdfast.leases.settings import Settings
from holdfast.leases.worker.live import LiveWorker

PREFIX: Final = "holdfast_leases_"
HELP: Final[Mapping[str, str]] = {
    "shards": "Shards that are counted: the larger of those open and those readable now.",
    "lease_rows": "Rows of the KCL's lease table, those of ended shards too.",
    "workers": "Workers that the agreement is for.",
    "living_workers": "Workers whose beat is seen to move.",
    "max_leases_per_worker": "The agreed cap.",
    "told_leases": "What this worker's KCL was told; 0 if it has none.",
    "held_leases": "Leases before their end that this worker holds.",
    "unread": "Leases beyond what the living workers may hold.",
    "workers_needed": "Workers that would leave no shard unread.",
}


def numbers(worker: LiveWorker) -> Mapping[str, int]:
    """What this worker knows by now; empty before the first agreement."""
    view = worker.found.value.view if worker.found else None
    if view is None:
        return {}
    rows = worker.counted.lease_table.rows if worker.counted else 0
    own = worker.row
    return {
        "shards": view.shards,
        "lease_rows": rows,
        "workers": view.workers,
        "living_workers": len(worker.living),
        "max_leases_per_worker": view.max_leases_per_worker,
        "told_leases": (own.told or 0) if own else 0,
        "held_leases": (own.holds or 0) if own else 0,
        **_alarm(worker, view, rows),
    }


def _alarm(worker: LiveWorker, view: View, rows: int) -> Mapping[str, int]:
    leases = leases_to_hold(view.shards, rows, worker.living)
    return {
        "unread": unread_now(view, rows, worker.living),
        "workers_needed": workers_needed(leases, view.limit),
    }


def as_text(told: Mapping[str, int], settings: Settings) -> str:
    """Each number with the names of its app, stream and worker."""
    names = {"app": settings.app_name, "stream": settings.stream_name, "worker": settings.worker_id}
    labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in names.items())
    return "".join(_gauge(f"{PREFIX}{name}", HELP[name], labels, value) for name, value in told.items())


def _gauge(name: str, text: str, labels: str, value: int) -> str:
    return f"# HELP {name} {text}\n# TYPE {name} gauge\n{name}{{{labels}}} {value}\n"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
