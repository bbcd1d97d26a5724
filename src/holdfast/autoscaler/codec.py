"""How the cluster's record is stored: one flat item, one row of this table an attribute."""

from collections.abc import Mapping
from typing import Any

from holdfast.autoscaler.record import (
    SCHEMA,
    Cluster,
    Cordon,
    ScaleDown,
    ScaleUp,
    Skip,
    Status,
    Target,
    Tombstone,
)
from holdfast.kernel import Lock
from holdfast.kernel.item import Attribute, Codec, Item, Kind, Value

SUBJECT = "cluster"
"""The partition key: there is one such item a table."""

ATTRIBUTES = (
    Attribute("schema", Kind.COUNT),
    Attribute("scalingInProgress", Kind.FLAG),
    Attribute("lastScaleEpoch", Kind.EPOCH),
    Attribute("pendingSinceEpoch", Kind.EPOCH),
    Attribute("idleSinceEpoch", Kind.EPOCH),
    Attribute("workerCount", Kind.COUNT),
    Attribute("lockOwner", Kind.TEXT),
    Attribute("lockUntilEpoch", Kind.EPOCH),
    Attribute("scaleUpActionId", Kind.TEXT),
    Attribute("scaleUpStartedEpoch", Kind.EPOCH),
    Attribute("scaleUpRequested", Kind.COUNT),
    Attribute("scaleUpInstanceIds", Kind.TEXTS),
    Attribute("scaleDownActionId", Kind.TEXT),
    Attribute("scaleDownStartedEpoch", Kind.EPOCH),
    Attribute("scaleDownPhase", Kind.TEXT),
    Attribute("scaleDownTargetInstanceIds", Kind.TEXTS),
    Attribute("scaleDownCompletedInstanceIds", Kind.TEXTS),
    # Beyond the seeds: what safety needs.
    Attribute("scaleDownTargetStatus", Kind.ROWS, columns=("status",)),
    Attribute("goneInstances", Kind.ROWS, columns=("at",)),
    Attribute("skippedInstances", Kind.ROWS, columns=("reason", "until")),
    Attribute("strayCordons", Kind.ROWS, columns=("instance", "action")),
)


def encode(cluster: Cluster) -> Item:
    item: dict[str, Value] = {
        "schema": SCHEMA,
        "scalingInProgress": cluster.scaling_in_progress,
        "lastScaleEpoch": cluster.last_scale_s,
        "pendingSinceEpoch": cluster.pending_since_s,
        "idleSinceEpoch": cluster.idle_since_s,
        "workerCount": cluster.worker_count,
        "lockOwner": cluster.lock.owner,
        "lockUntilEpoch": cluster.lock.until_s,
    }
    if up := cluster.scale_up:
        item |= {
            "scaleUpActionId": up.action_id,
            "scaleUpStartedEpoch": up.started_s,
            "scaleUpRequested": up.requested,
            "scaleUpInstanceIds": list(up.instance_ids),
        }
    if down := cluster.scale_down:
        item |= {
            "scaleDownActionId": down.action_id,
            "scaleDownStartedEpoch": down.started_s,
            "scaleDownPhase": phase(down),
            "scaleDownTargetInstanceIds": [target.instance_id for target in down.targets],
            "scaleDownCompletedInstanceIds": list(down.having(Status.GONE)),
            "scaleDownTargetStatus": {t.instance_id: {"status": t.status.value} for t in down.targets},
        }
    if cluster.gone:
        item["goneInstances"] = {stone.instance_id: {"at": stone.at_s} for stone in cluster.gone}
    if cluster.skipped:
        item["skippedInstances"] = {
            skip.instance_id: {"reason": skip.reason, "until": skip.until_s} for skip in cluster.skipped
        }
    if cluster.strays:
        item["strayCordons"] = {
            str(n): {"instance": stray.instance_id, "action": stray.action_id}
            for n, stray in enumerate(cluster.strays)
        }
    return item


def phase(down: ScaleDown) -> str:
    """The seeds' two phases: draining until every target is condemned or settled."""
    return "DRAINING" if down.having(Status.PLANNED, Status.DRAINED) else "TERMINATING"


def decode(item: Item) -> Cluster:
    found: Mapping[str, Any] = item
    if found.get("schema", 0) > SCHEMA:
        raise ValueError(
            f"schema {found['schema']} is newer than this release knows ({SCHEMA}): upgrade first"
        )
    return Cluster(
        scale_up=_scale_up(found),
        scale_down=_scale_down(found),
        last_scale_s=int(found.get("lastScaleEpoch", 0)),
        pending_since_s=int(found.get("pendingSinceEpoch", 0)),
        idle_since_s=int(found.get("idleSinceEpoch", 0)),
        worker_count=int(found.get("workerCount", 0)),
        lock=Lock(found.get("lockOwner", ""), float(found.get("lockUntilEpoch", 0))),
        gone=tuple(
            Tombstone(instance_id, int(row["at"]))
            for instance_id, row in found.get("goneInstances", {}).items()
        ),
        skipped=tuple(
            Skip(instance_id, str(row["reason"]), int(row["until"]))
            for instance_id, row in found.get("skippedInstances", {}).items()
        ),
        strays=tuple(
            Cordon(str(row["instance"]), str(row["action"]))
            for _, row in sorted(found.get("strayCordons", {}).items())
        ),
    )


def _scale_up(found: Mapping[str, Any]) -> ScaleUp | None:
    if not found.get("scaleUpActionId"):
        return None
    return ScaleUp(
        action_id=found["scaleUpActionId"],
        started_s=int(found.get("scaleUpStartedEpoch", 0)),
        requested=int(found.get("scaleUpRequested", 0)),
        instance_ids=tuple(found.get("scaleUpInstanceIds", ())),
    )


def _scale_down(found: Mapping[str, Any]) -> ScaleDown | None:
    """An action written without statuses is continued from its list of completed instances."""
    if not found.get("scaleDownActionId"):
        return None
    completed = set(found.get("scaleDownCompletedInstanceIds", ()))
    rows = found.get("scaleDownTargetStatus", {})

    def status(instance_id: str) -> Status:
        if instance_id in rows:
            return Status(rows[instance_id]["status"])
        return Status.GONE if instance_id in completed else Status.PLANNED

    ids = found.get("scaleDownTargetInstanceIds", ())
    return ScaleDown(
        action_id=found["scaleDownActionId"],
        started_s=int(found.get("scaleDownStartedEpoch", 0)),
        targets=tuple(Target(instance_id, status(instance_id)) for instance_id in ids),
    )


CODEC: Codec[Cluster] = Codec(
    attributes=ATTRIBUTES,
    first=Cluster(),
    encode=encode,
    decode=decode,
    stated=("scalingInProgress", "scaleUpActionId", "scaleDownActionId"),
)
