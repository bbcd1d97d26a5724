"""What outlives actions, as attributes of the item: machines, budgets, cool-downs."""

from collections.abc import Iterable, Mapping
from typing import Any

from holdfast.autoscaler.codec import choices
from holdfast.autoscaler.record import (
    Cluster,
    Missing,
    NotReady,
    PoolFailure,
    PoolIdle,
    Purpose,
    Recent,
    Spent,
    Swept,
    Unavailable,
    Unhelped,
)
from holdfast.kernel.item import Value


def encode(cluster: Cluster) -> dict[str, Value]:
    """The attributes of what outlives actions."""
    return {
        "condemnedInstances": {
            c.instance_id: {
                "action": c.action_id,
                "reason": c.reason,
                "at": c.at_s,
                **({"refused": c.refused, "retry": c.retry_s} if c.refused else {}),
            }
            for c in cluster.condemned
        },
        "interruptedInstances": {d.instance_id: choices.interrupted(d) for d in cluster.interrupted},
        "recentInstances": {
            r.instance_id: {"pool": r.pool, "zone": r.zone, "at": r.at_s} for r in cluster.recent
        },
        "missingInstances": {m.instance_id: {"since": m.since_s} for m in cluster.missing},
        "nodelessInstances": {m.instance_id: {"since": m.since_s} for m in cluster.nodeless},
        "sweptInstances": {each.instance_id: {"at": each.at_s} for each in cluster.swept},
        "clusterUid": cluster.cluster_uid,
        "refusedClusterUid": cluster.refused_uid,
        # One text: a thousand machines take 20 KB of the 400 that an item may have.
        "joinedInstanceIds": " ".join(cluster.joined),
        "joinedSinceEpoch": cluster.joined_since_s,
        "notReadyInstances": {one.instance_id: {"since": one.since_s} for one in cluster.not_ready},
        "underusedInstances": {one.instance_id: choices.underused(one) for one in cluster.underused},
        "disruptedInstances": {one.instance_id: {"at": one.at_s} for one in cluster.disrupted},
        "unhelpedPods": {one.pods: {"since": one.since_s} for one in cluster.unhelped},
        "unavailableOfferings": {
            u.offering: {"until": u.until_s, "reason": u.reason, "times": u.times}
            for u in cluster.unavailable
        },
        "launchesSpent": {
            str(n): {"action": s.action_id, "at": s.at_s, "count": s.count, "for": s.purpose.value}
            for n, s in enumerate(cluster.spent)
        },
        "lastScaleUpEpoch": cluster.last_up_s,
        "idlePools": {one.pool: {"since": one.since_s} for one in cluster.pools_idle},
        "poolFailures": {
            one.pool: {"failures": one.failures, "until": one.until_s, "reason": one.reason}
            for one in cluster.pool_failures
        },
        "lastActionId": cluster.last_action_id,
        "holdCode": cluster.hold_code,
        "holdReason": cluster.hold_reason,
        "pausedUntilEpoch": cluster.paused_until_s,
        "pausedReason": cluster.paused_why,
    }


def purpose_of(row: Mapping[str, Any]) -> Purpose:
    """An earlier release knew one budget for all."""
    return Purpose(row.get("for", Purpose.DEMAND))


def decode(found: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the record that they stand for."""

    def rows(name: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
        table: Mapping[str, Mapping[str, Any]] = found.get(name, {})
        return table.items()

    return {
        "interrupted": tuple(choices.interrupted_of(i, row) for i, row in rows("interruptedInstances")),
        "recent": tuple(
            Recent(i, row["pool"], row["zone"], int(row["at"])) for i, row in rows("recentInstances")
        ),
        "missing": tuple(Missing(i, int(row["since"])) for i, row in rows("missingInstances")),
        "nodeless": tuple(Missing(i, int(row["since"])) for i, row in rows("nodelessInstances")),
        "swept": tuple(Swept(i, int(row["at"])) for i, row in rows("sweptInstances")),
        "cluster_uid": found.get("clusterUid", ""),
        "refused_uid": found.get("refusedClusterUid", ""),
        "joined": tuple(found.get("joinedInstanceIds", "").split()),
        "joined_since_s": int(found.get("joinedSinceEpoch", 0)),
        "not_ready": tuple(NotReady(i, int(row["since"])) for i, row in rows("notReadyInstances")),
        "underused": tuple(choices.underused_of(i, row) for i, row in rows("underusedInstances")),
        "disrupted": tuple(choices.disrupted_of(i, row) for i, row in rows("disruptedInstances")),
        "unhelped": tuple(Unhelped(pods, int(row["since"])) for pods, row in rows("unhelpedPods")),
        "unavailable": tuple(
            Unavailable(o, int(row["until"]), row["reason"], int(row.get("times", 1)))
            for o, row in rows("unavailableOfferings")
        ),
        "spent": tuple(
            Spent(row["action"], int(row["at"]), int(row["count"]), purpose_of(row))
            for _, row in sorted(rows("launchesSpent"), key=lambda item: int(item[0]))
        ),
        "last_up_s": int(found.get("lastScaleUpEpoch", 0)),
        "pools_idle": tuple(PoolIdle(pool, int(row["since"])) for pool, row in rows("idlePools")),
        "pool_failures": tuple(
            PoolFailure(pool, int(row["failures"]), int(row["until"]), row.get("reason", ""))
            for pool, row in rows("poolFailures")
        ),
        "last_action_id": found.get("lastActionId", ""),
        "hold_code": found.get("holdCode", ""),
        "hold_reason": found.get("holdReason", ""),
        "paused_until_s": int(found.get("pausedUntilEpoch", 0)),
        "paused_why": found.get("pausedReason", ""),
    }
