"""A fleet in which consolidation is on, and how one step of it goes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from holdfast.autoscaler.decide import Decision
from holdfast.autoscaler.record import Cluster, Underused
from holdfast.autoscaler.settings import Disruption
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.workflow import conclude, workflow
from holdfast.kernel import Do, Done, Wait, Write
from holdfast.testing.legal import illegal
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, worker

ON = Disruption(consolidation=True)
CONSOLIDATING = replace(SETTINGS, disruption=ON)
LONG_AGO = int(NOW_S) - 5_000
CALM = Cluster(last_scale_s=LONG_AGO, last_up_s=LONG_AGO)
THREE = (worker("i-1"), worker("i-2", "b"), worker("i-3"))


def these(*instance_ids: str) -> Callable[[str], bool]:
    return lambda instance_id: instance_id in instance_ids


def empty(*instance_ids: str, since_s: int = LONG_AGO) -> tuple[Underused, ...]:
    return tuple(Underused(i, since_s, since_s) for i in instance_ids)


def with_disruption(**said: Any) -> Any:
    return replace(SETTINGS, disruption=replace(ON, **said))


def concluded(cluster: Cluster, seen: Snapshot, settings: Any = CONSOLIDATING) -> Decision:
    return conclude(cluster, seen, settings, NOW_S)


def stepped(cluster: Cluster, seen: Snapshot, settings: Any = CONSOLIDATING) -> Any:
    """What is asked for next, but for writes that only tell; if it is a write, by a legal move."""
    for _ in range(5):
        ahead = workflow(settings).step(cluster, seen, NOW_S)
        assert isinstance(ahead, Write | Do | Wait | Done)
        if not isinstance(ahead, Write):
            break
        assert not illegal(cluster, ahead.value, ahead.events, NOW_S, settings)
        if any(event.kind not in ("decision", "conditionChanged", "seenJoined") for event in ahead.events):
            break
        cluster = ahead.value
    return ahead
