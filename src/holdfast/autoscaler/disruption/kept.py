"""Workers that were to be replaced by choice, and are kept: they are not chosen again for a while."""

from collections.abc import Sequence
from dataclasses import replace

from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.record import Cluster, Interrupted, Skip
from holdfast.cloud import NoticeKind
from holdfast.kernel import Event, Write

RETRY_S = 3_600
"""How long one is left alone.  So what cannot be done is not tried for ever, at a new machine each time."""


def left_for_a_while(cluster: Cluster, row: Interrupted, why: str, now_s: float) -> Write[Cluster]:
    """Let go of one that was to be replaced by choice: it stays, and is not chosen again for a while."""
    kept = tuple(one for one in cluster.interrupted if one.instance_id != row.instance_id)
    event = Event(AutoscalerEvent.DRAIN_SKIPPED, now_s, about=row.instance_id, reason=why)
    return Write(replace(cluster, interrupted=kept, skipped=skipping(cluster, (row,), why, now_s)), (event,))


def skipping(cluster: Cluster, rows: Sequence[Interrupted], why: str, now_s: float) -> tuple[Skip, ...]:
    """What is left alone, with those of these rows that were to be replaced by choice."""
    ids = [row.instance_id for row in rows if row.kind is NoticeKind.REPLACE]
    still = (skip for skip in cluster.skipped if skip.instance_id not in ids)
    return (*still, *(Skip(instance_id, why, int(now_s) + RETRY_S) for instance_id in ids))
