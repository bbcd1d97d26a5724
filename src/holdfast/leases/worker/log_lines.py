"""The lines that a starting worker logs: the seed's words, with its fields in its order."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.leases.cap import Cap, View, coordinator


@dataclass(frozen=True, slots=True)
class LogLine:
    """`message  key=value key=value` as text; as JSON the fields stand beside the message."""

    message: str
    fields: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        told = " ".join(f"{name}={value}" for name, value in self.fields.items())
        return f"{self.message}  {told}" if told else self.message


def initializing(stream_name: str, app_name: str, worker_id: str) -> LogLine:
    fields = {"stream": stream_name, "app": app_name, "worker": worker_id}
    return LogLine("Initializing max leases per worker", fields)


def retrieved(view: View) -> LogLine:
    fields = {"currentShardCount": view.shards, "currentWorkerCount": view.workers}
    return LogLine("Retrieved current system state", fields)


def detected(cap: Cap, old: View, new: View) -> LogLine:
    fields = {
        "oldShardCount": old.shards,
        "newShardCount": new.shards,
        "oldWorkerCount": old.workers,
        "newWorkerCount": new.workers,
        "oldMaxLeases": cap.max_leases_per_worker if cap.stored is None else cap.stored,
    }
    return LogLine("Detected configuration change, recalculating max leases per worker", fields)


def calculated(view: View) -> LogLine:
    fields = {
        "shardCount": view.shards,
        "workerCount": view.workers,
        "shardsPerWorker": view.shards_per_worker,
        "maxLeasesPerWorker": view.max_leases_per_worker,
    }
    return LogLine("Calculated max leases per worker", fields)


def updated(app_name: str, view: View) -> LogLine:
    fields = {"coordinatorKey": coordinator(app_name), "newMaxLeasesPerWorker": view.max_leases_per_worker}
    return LogLine("Successfully updated coordinator metadata", fields)


def unchanged(view: View) -> LogLine:
    fields = {
        "maxLeasesPerWorker": view.max_leases_per_worker,
        "shardCount": view.shards,
        "workerCount": view.workers,
    }
    return LogLine("Configuration unchanged, using existing coordinator metadata", fields)


def overtaken() -> LogLine:
    return LogLine("Another worker already updated coordinator metadata")


def initialized(view: View) -> LogLine:
    fields = {"maxLeasesPerWorker": view.max_leases_per_worker}
    return LogLine("Successfully initialized dynamic max leases per worker", fields)
