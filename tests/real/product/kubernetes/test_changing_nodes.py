"""A node is changed only as it was read, and only where we have something to say."""

import msgspec
import pytest

from holdfast.adapters.kubernetes import KubernetesApi
from holdfast.cloud.kubernetes import CORDON_FOUND, CORDON_OWNERS, JOINING_TAINT, KubeNode, Taint
from holdfast.kernel import Conflict
from tests.real.corner import Corner
from tests.real.product.kubernetes.seeing import changed, cordoned, node_of, raw

JOINING = {"key": JOINING_TAINT, "effect": "NoSchedule"}
OUTAGE = {"key": "test.holdfast/outage", "effect": "NoExecute", "timeAdded": "2026-01-02T03:04:05Z"}


def taints_of(corner: Corner, name: str) -> list[object]:
    """But those that the cluster itself puts on a node that is cordoned."""
    found = raw(corner, f"/api/v1/nodes/{name}")["spec"].get("taints", [])
    return [taint for taint in found if not taint["key"].startswith("node.kubernetes.io/")]


def with_taints(node: KubeNode, *taints: Taint) -> KubeNode:
    return msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, taints=taints))


def plain(node: KubeNode) -> KubeNode:
    """The same node without any cordon."""
    notes = {k: v for k, v in node.metadata.annotations.items() if k not in (CORDON_OWNERS, CORDON_FOUND)}
    return msgspec.structs.replace(
        node,
        metadata=msgspec.structs.replace(node.metadata, annotations=notes),
        spec=msgspec.structs.replace(node.spec, unschedulable=False),
    )


def test_a_cordon_is_set_with_its_owner_and_lifted_again(corner: Corner, api: KubernetesApi) -> None:
    name = corner.add_node()
    before = node_of(api, name)
    after = changed(api, name, cordoned)
    assert after.spec.unschedulable
    assert after.metadata.annotations[CORDON_OWNERS] == "action-1"
    assert after.metadata.resource_version != before.metadata.resource_version
    said = raw(corner, f"/api/v1/nodes/{name}")
    assert said["spec"]["unschedulable"] is True

    assert changed(api, name, plain).spec.unschedulable is False
    said = raw(corner, f"/api/v1/nodes/{name}")
    assert "unschedulable" not in said["spec"]
    assert not {CORDON_OWNERS, CORDON_FOUND} & set(said["metadata"].get("annotations", {}))


def test_a_change_of_what_has_changed_is_a_conflict_and_changes_nothing(
    corner: Corner, api: KubernetesApi
) -> None:
    name = corner.add_node()
    seen = node_of(api, name)
    changed(api, name, lambda node: cordoned(node, "action-1"))
    with pytest.raises(Conflict, match=f"{name} is no longer at {seen.metadata.resource_version}"):
        api.change_node(seen, cordoned(seen, "action-2"))
    assert node_of(api, name).metadata.annotations[CORDON_OWNERS] == "action-1"


def test_twice_is_a_conflict(corner: Corner, api: KubernetesApi) -> None:
    name, used = corner.add_node(), []

    def once(node: KubeNode) -> KubeNode:
        used.append(node)
        return cordoned(node)

    changed(api, name, once)
    with pytest.raises(Conflict):
        api.change_node(used[-1], cordoned(used[-1]))


def test_a_change_of_nothing_still_tells_whether_the_node_is_the_one_that_was_read(
    corner: Corner, api: KubernetesApi
) -> None:
    name = corner.add_node()
    seen = changed(api, name, lambda node: node)
    assert not seen.spec.unschedulable
    changed(api, name, cordoned)
    with pytest.raises(Conflict):
        api.change_node(seen, seen)


def test_a_node_that_is_gone_is_a_conflict(corner: Corner, api: KubernetesApi) -> None:
    name = corner.add_node()
    seen = node_of(api, name)
    corner.cluster.request("DELETE", f"/api/v1/nodes/{name}").ok()
    with pytest.raises(Conflict):
        api.change_node(seen, cordoned(seen))


def test_one_taint_is_lifted_and_the_others_stay_to_the_last_field(
    corner: Corner, api: KubernetesApi
) -> None:
    name = corner.add_node(taints=[OUTAGE, JOINING])
    changed(
        api,
        name,
        lambda node: with_taints(node, *(t for t in node.spec.taints if t.key != JOINING_TAINT)),
    )
    assert taints_of(corner, name) == [OUTAGE]


def test_a_taint_is_added_beside_others_and_where_there_was_none(corner: Corner, api: KubernetesApi) -> None:
    first, second = Taint(key="test.holdfast/a"), Taint(key="test.holdfast/b", value="x", effect="NoExecute")
    name = corner.add_node()
    changed(api, name, lambda node: with_taints(node, *node.spec.taints, first))
    changed(api, name, lambda node: with_taints(node, *node.spec.taints, second))
    assert taints_of(corner, name) == [
        {"key": "test.holdfast/a", "effect": "NoSchedule"},
        {"key": "test.holdfast/b", "value": "x", "effect": "NoExecute"},
    ]


def test_what_others_write_meanwhile_is_seen_or_kept_but_never_lost(
    corner: Corner, api: KubernetesApi
) -> None:
    name = corner.add_node(labels={"team": "a"})
    seen = node_of(api, name)
    note = {"metadata": {"annotations": {"test.holdfast/note": "mine"}, "labels": {"team": "b"}}}
    corner.cluster.request("PATCH", f"/api/v1/nodes/{name}", note).ok()
    with pytest.raises(Conflict):
        api.change_node(seen, cordoned(seen))
    # A stale idea of what belongs to others is not sent at all.
    changed(api, name, lambda node: cordoned(msgspec.structs.replace(node, metadata=seen.metadata)))
    said = raw(corner, f"/api/v1/nodes/{name}")["metadata"]
    assert said["annotations"]["test.holdfast/note"] == "mine"
    assert said["labels"]["team"] == "b"
    assert said["annotations"][CORDON_OWNERS] == "action-1"
