"""Short ways to what a test looks at."""

import contextlib
from collections.abc import Callable
from typing import Any

import msgspec

from holdfast.adapters.kubernetes import KubernetesApi
from holdfast.cloud.kubernetes import CORDON_OWNERS, KubeNode, Pod
from holdfast.kernel import Conflict
from tests.real.corner import Corner

TRIES_MAX = 50


def node_of(api: KubernetesApi, name: str) -> KubeNode:
    found = api.node(name)
    assert found is not None, f"no node {name}"
    return found


def changed(api: KubernetesApi, name: str, change: Callable[[KubeNode], KubeNode]) -> KubeNode:
    """The node after a change.  The cluster's own controllers write too: the loser reads again."""
    for _ in range(TRIES_MAX):
        seen = node_of(api, name)
        with contextlib.suppress(Conflict):
            return api.change_node(seen, change(seen))
    raise AssertionError(f"{name} changed {TRIES_MAX} times while it was being changed")


def pod_of(api: KubernetesApi, corner: Corner, name: str = "web") -> Pod:
    """The pod as the list of all pods has it."""
    (found,) = (pod for pod in api.pods() if pod.called == f"{corner.name}/{name}")
    return found


def with_uid(thing: Pod, uid: str) -> Pod:
    return msgspec.structs.replace(thing, metadata=msgspec.structs.replace(thing.metadata, uid=uid))


def cordoned(node: KubeNode, owner: str = "action-1") -> KubeNode:
    """The same node as an action wants it."""
    notes = {**node.metadata.annotations, CORDON_OWNERS: owner}
    return msgspec.structs.replace(
        node,
        metadata=msgspec.structs.replace(node.metadata, annotations=notes),
        spec=msgspec.structs.replace(node.spec, unschedulable=True),
    )


def raw(corner: Corner, path: str) -> Any:
    """What the API server says itself, past the adapter."""
    return corner.cluster.request("GET", path).ok()
