"""How the cluster's record is stored: one flat item, one row of this table an attribute."""

from collections.abc import Mapping
from typing import Any

from holdfast.autoscaler.codec import memory
from holdfast.autoscaler.record import (
    SCHEMA,
    Cluster,
    Condemned,
    Cordon,
    Launch,
    LaunchStatus,
    ScaleDown,
    ScaleUp,
    Skip,
    Status,
    Target,
    Tombstone,
)
from holdfast.cloud import Market
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
    Attribute("scaleDownReason", Kind.TEXT),
    Attribute("scaleUpLaunches", Kind.ROWS, columns=("group", "attempt", "pool", "zone", "count", "status")),
    Attribute("scaleUpJoinedInstanceIds", Kind.TEXTS),
    Attribute("scaleUpLostInstanceIds", Kind.TEXTS),
    Attribute("scaleUpReason", Kind.TEXT),
    Attribute("condemnedInstances", Kind.ROWS, columns=("action", "reason", "at")),
    Attribute(
        "interruptedInstances", Kind.ROWS, columns=("kind", "at", "deadline", "replacement", "drained")
    ),
    Attribute("recentInstances", Kind.ROWS, columns=("pool", "zone", "at")),
    Attribute("missingInstances", Kind.ROWS, columns=("since",)),
    Attribute("nodelessInstances", Kind.ROWS, columns=("since",)),
    Attribute("sweptInstances", Kind.ROWS, columns=("at",)),
    Attribute("clusterUid", Kind.TEXT),
    Attribute("refusedClusterUid", Kind.TEXT),
    Attribute("joinedInstanceIds", Kind.TEXT),
    Attribute("joinedSinceEpoch", Kind.EPOCH),
    Attribute("notReadyInstances", Kind.ROWS, columns=("since",)),
    Attribute("underusedInstances", Kind.ROWS, columns=("since",)),
    Attribute("disruptedInstances", Kind.ROWS, columns=("at",)),
    Attribute("unhelpedPods", Kind.ROWS, columns=("since",)),
    Attribute("unavailableOfferings", Kind.ROWS, columns=("until", "reason")),
    Attribute("launchesSpent", Kind.ROWS, columns=("action", "at", "count")),
    Attribute("lastScaleUpEpoch", Kind.EPOCH),
    Attribute("idlePools", Kind.ROWS, columns=("since",)),
    Attribute("poolFailures", Kind.ROWS, columns=("failures", "until")),
    Attribute("lastActionId", Kind.TEXT),
    Attribute("holdCode", Kind.TEXT),
    Attribute("holdReason", Kind.TEXT),
    Attribute("pausedUntilEpoch", Kind.EPOCH),
    Attribute("pausedReason", Kind.TEXT),
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
            "scaleUpReason": up.reason,
            "scaleUpLaunches": {
                f"{launch.group:03d}.{launch.attempt:03d}": _row(launch) for launch in up.launches
            },
            "scaleUpJoinedInstanceIds": list(up.joined),
            "scaleUpLostInstanceIds": list(up.lost),
        }
    if down := cluster.scale_down:
        item |= {
            "scaleDownActionId": down.action_id,
            "scaleDownStartedEpoch": down.started_s,
            "scaleDownPhase": phase(down),
            "scaleDownTargetInstanceIds": [target.instance_id for target in down.targets],
            "scaleDownCompletedInstanceIds": list(down.having(Status.GONE)),
            "scaleDownReason": down.reason,
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
    item |= memory.encode(cluster)
    return {name: value for name, value in item.items() if value or name in ALWAYS}


ALWAYS = frozenset(
    {
        "schema",
        "scalingInProgress",
        "lastScaleEpoch",
        "pendingSinceEpoch",
        "idleSinceEpoch",
        "workerCount",
        "lockOwner",
        "lockUntilEpoch",
        "scaleUpRequested",
        "scaleUpInstanceIds",
        "scaleDownCompletedInstanceIds",
    }
)
"""Written even when they are zero or empty, if their action is there; others are absent then."""


def _row(launch: Launch) -> dict[str, str | float]:
    return {
        "group": launch.group,
        "attempt": launch.attempt,
        "pool": launch.pool,
        "zone": launch.zone,
        "subnet": launch.subnet_id,
        "market": launch.market.value,
        "type": launch.instance_type,
        "template": launch.template_id,
        "templateVersion": launch.template_version,
        "count": launch.count,
        "status": launch.status.value,
        "instances": " ".join(launch.instance_ids),
        "reason": launch.reason,
        "at": launch.at_s,
        "bound": int(launch.bound),
        "extended": launch.extended,
        "for": launch.purpose.value,
        **({"types": " ".join(launch.types)} if launch.types else {}),
        **({"usdMax": launch.usd_max} if launch.usd_max else {}),
    }


def phase(down: ScaleDown) -> str:
    """The seeds' two phases: draining until every target is condemned or settled."""
    return "DRAINING" if down.having(Status.PLANNED, Status.DRAINED) else "TERMINATING"


def decode(item: Item) -> Cluster:
    found: Mapping[str, Any] = item
    if found.get("schema", 0) > SCHEMA:
        raise ValueError(
            f"schema {found['schema']} is newer than this release knows ({SCHEMA}): upgrade first"
        )
    down = _scale_down(found)
    return Cluster(
        scale_up=_scale_up(found),
        scale_down=down,
        condemned=_all_condemned(found, down),
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
            for _, row in sorted(found.get("strayCordons", {}).items(), key=lambda item: int(item[0]))
        ),
        **memory.decode(found),
    )


def _scale_up(found: Mapping[str, Any]) -> ScaleUp | None:
    """An action written without intents is continued with the instances that it names."""
    if not found.get("scaleUpActionId"):
        return None
    launches = tuple(_launch(row) for _, row in sorted(found.get("scaleUpLaunches", {}).items()))
    intended = {i for launch in launches for i in launch.instance_ids}
    return ScaleUp(
        action_id=found["scaleUpActionId"],
        started_s=int(found.get("scaleUpStartedEpoch", 0)),
        requested=int(found.get("scaleUpRequested", 0)),
        launches=launches,
        joined=tuple(found.get("scaleUpJoinedInstanceIds", ())),
        lost=tuple(found.get("scaleUpLostInstanceIds", ())),
        reason=found.get("scaleUpReason", ""),
        foreign_ids=tuple(i for i in found.get("scaleUpInstanceIds", ()) if i not in intended),
    )


def _launch(row: Mapping[str, Any]) -> Launch:
    return Launch(
        group=int(row["group"]),
        attempt=int(row["attempt"]),
        pool=row["pool"],
        zone=row["zone"],
        subnet_id=row.get("subnet", ""),
        market=Market(row.get("market", Market.ON_DEMAND)),
        instance_type=row.get("type", ""),
        template_id=row.get("template", ""),
        template_version=int(row.get("templateVersion", 0)),
        count=int(row["count"]),
        status=LaunchStatus(row["status"]),
        instance_ids=tuple(str(row.get("instances", "")).split()),
        reason=row.get("reason", ""),
        at_s=int(row.get("at", 0)),
        bound=bool(row.get("bound", 0)),
        extended=int(row.get("extended", 0)),
        purpose=memory.purpose_of(row),
        types=tuple(str(row.get("types", "")).split()),
        usd_max=float(row.get("usdMax", 0)),
    )


def _all_condemned(found: Mapping[str, Any], down: ScaleDown | None) -> tuple[Condemned, ...]:
    """The rows, and every target that an earlier release condemned by its status alone."""
    rows = tuple(
        Condemned(
            i,
            row["action"],
            row["reason"],
            int(row["at"]),
            int(row.get("refused", 0)),
            int(row.get("retry", 0)),
        )
        for i, row in found.get("condemnedInstances", {}).items()
    )
    named = {one.instance_id for one in rows}
    unnamed = [i for i in down.having(Status.CONDEMNED) if i not in named] if down else []
    return (*rows, *(Condemned(i, down.action_id, "scale-down", down.started_s) for i in unnamed if down))


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
        reason=found.get("scaleDownReason", ""),
    )


CODEC: Codec[Cluster] = Codec(
    attributes=ATTRIBUTES,
    first=Cluster(),
    encode=encode,
    decode=decode,
    guarded_attributes=("scalingInProgress", "scaleUpActionId", "scaleDownActionId"),
)
