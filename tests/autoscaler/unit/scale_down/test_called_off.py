"""What a person does to a node means: leave it.  And the zone rule can be switched off."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from holdfast.autoscaler.ports import Drain, Drained
from holdfast.autoscaler.record import Cluster, ScaleDown, Status, Target
from holdfast.autoscaler.scale_down import action as scale_down
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.cloud.kubernetes import SCALE_DOWN_DISABLED, KubeNode, cordon_owners
from holdfast.kernel import Write
from tests.autoscaler.unit.snapshots import snapshot, worker
from tests.autoscaler.unit.tick.executing import Cluster as OneNode
from tests.autoscaler.unit.tick.executing import drained, executor_of
from tests.proof import prove
from tests.variants import broken
from tests.workloads import node, pod

NOW = 10_000.0
SETTINGS = Settings(min_workers=1)


def opened(before: KubeNode | None) -> KubeNode:
    """As `kubectl uncordon` leaves it: our mark stays."""
    assert before is not None
    return msgspec.structs.replace(before, spec=msgspec.structs.replace(before.spec, unschedulable=False))


def annotated(before: KubeNode | None) -> KubeNode:
    assert before is not None
    notes = {**before.metadata.annotations, SCALE_DOWN_DISABLED: "true"}
    return msgspec.structs.replace(
        before, metadata=msgspec.structs.replace(before.metadata, annotations=notes)
    )


@pytest.mark.parametrize(
    ("meanwhile", "says"), [(opened, "was uncordoned by a person"), (annotated, "scale-down-disabled")]
)
def test_a_person_ends_a_drain_that_has_begun(meanwhile: Any, says: str) -> None:
    cluster = OneNode(node(), [pod("a", node="n-1"), pod("b", node="n-1")])
    executor = executor_of(cluster)
    assert drained(executor).left
    assert cordon_owners(cluster.here or node()) == {"act"}

    cluster.here = meanwhile(cluster.here)
    answer = drained(executor)

    assert says in answer.blocked_by
    assert not [line for line in cluster.log if line.startswith("evict")]


def test_a_machine_that_dies_anyway_is_drained_whatever_a_person_wants() -> None:
    cluster = OneNode(annotated(node()), [pod("a", node="n-1")])

    answer = drained(executor_of(cluster), Drain("i-1", "act", deadline_s=10_200))

    assert isinstance(answer, Drained)
    assert not answer.blocked_by
    assert cluster.log == ["change", "evict a 30"]


DRAINED = Cluster(scale_down=ScaleDown("9990-req-0", 9_990, (Target("i-1", Status.DRAINED),)))


def seen(*, cordoned: bool) -> Snapshot:
    mark = frozenset({"9990-req-0"})
    return snapshot(worker("i-1", cordons=mark, cordoned=cordoned), worker("i-2"), worker("i-3"))


def condemned_by(module: Any, look: Snapshot) -> list[str]:
    assert DRAINED.scale_down is not None
    ahead = module.proceed(DRAINED, DRAINED.scale_down, look, SETTINGS, NOW)
    assert isinstance(ahead, Write)
    return [event.kind for event in ahead.events]


def test_a_drained_node_that_was_uncordoned_is_not_condemned() -> None:
    assert condemned_by(scale_down, seen(cordoned=True)) == ["terminating"]
    assert condemned_by(scale_down, seen(cordoned=False)) == ["drainSkipped"]


def test_without_the_guard_an_opened_node_is_condemned() -> None:
    guard = '    if worker.uncordoned_from(action_id):\n        return "it was uncordoned by a person"\n'
    variant = broken("holdfast.autoscaler.scale_down.action", {guard: ""})

    assert condemned_by(variant, seen(cordoned=False)) == ["terminating"]
    prove("variant", "H7: a node that a person has opened again is condemned", caught_by="a snapshot")


def test_without_the_guard_a_drain_goes_on_against_a_person() -> None:
    guard = "_called_off(node, begun=begun) or "
    variant = broken("holdfast.autoscaler.execute", {guard: ""})
    cluster = OneNode(node(), [pod("a", node="n-1")])
    executor = executor_of(cluster)
    drained(executor)
    cluster.here = opened(cluster.here)
    fields = {name: getattr(executor, name) for name in ("settings", "cloud", "kubernetes", "inbox", "clock")}
    again = variant.Executor(**fields, names=executor.names, read_s=executor.read_s)

    again.perform([Drain("i-1", "act")])
    again.perform([Drain("i-1", "act")])

    assert "evict a" in cluster.log
    prove("variant", "H7: a drain goes on though a person has uncordoned the node", caught_by="one node")


def test_the_last_of_a_zone_leaves_only_where_the_operator_lets_it() -> None:
    look = snapshot(worker("i-1", "a"), worker("i-2", "b"), cpu=0.0)
    settings = replace(SETTINGS, max_batch_down=1)

    assert scale_down.begin(Cluster(), look, settings, NOW) is None
    begun = scale_down.begin(Cluster(), look, replace(settings, keep_last_of_zone=False), NOW)
    assert begun is not None
    assert begun.value.scale_down is not None
