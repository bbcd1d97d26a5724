"""Whether a change in the cluster is a reason to tick now.

Everything else waits for the next turn of the loop: a kubelet that reports, a pod that starts, a budget that
counts.  On a large cluster those come by the hundred.
"""

from typing import Any, Final

from holdfast.autoscaler.scheduling.simulation import is_unschedulable
from holdfast.cloud.kubernetes import (
    DO_NOT_DISRUPT,
    SCALE_DOWN_DISABLED,
    Budget,
    KubeNode,
    Pod,
    cordon_owners,
    instance_id_of,
)

OURS: Final = (SCALE_DOWN_DISABLED, DO_NOT_DISRUPT)
"""Annotations of a node by which people say that it must stay."""


def reason_to_wake(before: Any, after: Any) -> str:
    """In words; empty: none.  None stands for an object that is not there."""
    known = after if after is not None else before
    if isinstance(known, Pod):
        return _of_pod(before, after)
    if isinstance(known, KubeNode):
        return _of_node(before, after)
    if isinstance(known, Budget):
        return _of_budget(before, after)
    return ""


def _of_pod(before: Pod | None, after: Pod | None) -> str:
    if after is None or not is_unschedulable(after):
        return ""
    return "" if before is not None and is_unschedulable(before) else f"{after.called} is unschedulable"


def _of_node(before: KubeNode | None, after: KubeNode | None) -> str:
    if before is None or after is None:
        there = after or before
        assert there is not None
        return f"node {there.metadata.name} is {'new' if after else 'gone'}"
    if _seen(before) == _seen(after):
        return ""
    return f"node {after.metadata.name} has changed"


def _seen(node: KubeNode) -> tuple[object, ...]:
    """What is decided by; not what a kubelet reports every few minutes."""
    notes = node.metadata.annotations
    return (
        node.metadata.uid,
        node.is_ready,
        node.spec.unschedulable,
        node.spec.taints,
        cordon_owners(node),
        instance_id_of(node),
        node.status.allocatable,
        tuple(notes.get(name) for name in OURS),
    )


def _of_budget(before: Budget | None, after: Budget | None) -> str:
    if before is not None and after is not None and before.spec == after.spec:
        return ""
    there = after or before
    assert there is not None
    return f"budget {there.metadata.namespace}/{there.metadata.name} has changed"
