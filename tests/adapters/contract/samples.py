"""Records that differ, and values that make no sense, for each kind of record."""

import math
from typing import Any

from holdfast.autoscaler.record import (
    Cluster,
    Condemned,
    Cordon,
    ScaleDown,
    ScaleUp,
    Skip,
    Status,
    Target,
    Tombstone,
)
from holdfast.kernel import Lock
from holdfast.leases.cap import Cap, View

CLUSTERS = (
    Cluster(
        scale_down=ScaleDown(
            "1730000300-req-1", 1730000300, (Target("i-1", Status.CONDEMNED), Target("i-2", Status.GONE))
        ),
        worker_count=4,
        lock=Lock("req-1", 1730000600.0),
        gone=(Tombstone("i-9", 1730000000),),
        skipped=(Skip("i-3", "a pod without an owner", 1730000900),),
        strays=(Cordon("i-4", "1730000000-req-0"),),
        condemned=(Condemned("i-1", "1730000300-req-1", "scale-down", 1730000400),),
    ),
    Cluster(
        scale_up=ScaleUp("1730000300-req-2", 1730000300, 2, foreign_ids=("i-5", "i-6")),
        idle_since_s=1730000100,
    ),
    Cluster(last_scale_s=1730000000, worker_count=2, pending_since_s=5),
)
CLUSTER_ABSURDITIES: tuple[tuple[str, Any], ...] = (
    ("scalingInProgress", "yes"),
    ("lastScaleEpoch", "yesterday"),
    ("workerCount", -1),
    ("workerCount", 2.5),
    ("scaleDownTargetInstanceIds", "i-1"),
    ("scaleDownTargetStatus", {"i-1": {"colour": "red"}}),
    ("goneInstances", {"i-1": {"at": "then"}, "i-2": 3}),
    ("version", -4),
    ("version", "seven"),
)

CLUSTER_GUARDED = ("scaleDownActionId", "1730000301-another")

CAP_GUARDED = ("shard_count", 31)
CAPS = (Cap(View(30, 3)), Cap(View(60, 3)), Cap(View(300, 2)))
CAP_ABSURDITIES: tuple[tuple[str, Any], ...] = (
    ("shard_count", "many"),
    ("worker_count", -3),
    ("max_leases_per_worker", [10]),
    ("version", "one"),
)


NOT_A_NUMBER = math.nan
