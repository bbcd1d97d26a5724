"""What would be done by choice now, or why nothing is: one sentence each, the same on every screen."""

from dataclasses import replace

from holdfast.autoscaler.disruption import rotation
from holdfast.autoscaler.disruption.consolidation import Removable, disruption_allowed, removable
from holdfast.autoscaler.disruption.windows import opens_s
from holdfast.autoscaler.record import READY, Cluster
from holdfast.autoscaler.scale_down import action as scale_down
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.cloud.text import lasting


def consolidation(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> str:
    if not settings.disruption.consolidation:
        return "off (disruption.consolidation)"
    found = removable(cluster, snapshot, settings, now_s)
    if isinstance(found, str):
        return f"nothing: {found}"
    if cluster.scaling_in_progress:
        chosen = (
            {target.instance_id for target in cluster.scale_down.targets} if cluster.scale_down else set()
        )
        later = replace(found, instance_ids=found.instance_ids - chosen)
        then = f"; then {_in_words(later, None)}" if later.instance_ids else ""
        return f"waits for the open action{then}"
    planned = scale_down.begin(
        cluster, snapshot, settings, now_s, workers=found.instance_ids, code=found.code
    )
    if planned is None or planned.value.scale_down is None:
        return f"nothing: {' '.join(sorted(found.instance_ids))} must stay ({found.why}); `explain` says why"
    saves = planned.events[0].numbers.get("savesUsdPerHour")
    return _in_words(found, saves, planned.value.scale_down.targets[0].instance_id)


def _in_words(found: Removable, saves: float | None, which: str = "") -> str:
    saving = f", which saves ${saves:.4f} an hour" if saves is not None else ""
    return f"{which or ' or '.join(sorted(found.instance_ids))} leaves: {found.why}{saving}"


def rotation_of(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> str:
    """Which worker is replaced by choice, or would be, or why none is."""
    for row in rotation.rows(cluster):
        step = {READY: "its replacement is ready, and it is drained", "": "it waits for its turn"}
        return f"{row.instance_id} ({row.why}): {step.get(row.replacement, 'a new worker is on its way')}"
    if not (settings.disruption.drift or settings.disruption.max_age_s):
        return "off (disruption.max_age_s, disruption.drift)"
    due = list(rotation.due(cluster, snapshot, settings, now_s))
    if not due:
        return "nothing: no worker is too old or has drifted"
    first, why = due[0]
    kept = rotation.bars(cluster, snapshot, settings, now_s) or rotation.keeps(
        cluster, snapshot, first, now_s
    )
    return f"{first.instance_id} is next ({why})" + (f", but not while {kept}" if kept else "")


def windows(settings: Settings, now_s: float) -> str:
    """Whether workers that run pods may be disrupted by choice now; if not, when."""
    rules = settings.disruption
    if not rules.windows:
        return "at any time"
    if disruption_allowed(settings, now_s):
        return "a window is open"
    next_s = opens_s(rules.windows, rules.time_zone, now_s)
    return f"closed, and opens in {lasting(next_s - now_s)}" if next_s is not None else "closed"
