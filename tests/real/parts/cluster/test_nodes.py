"""Nodes are what they were registered as, and live as long as their kubelet is heard of."""

from tests.real.corner import Corner, condition
from tests.real.parts.cluster.conftest import NODE_GRACE_S
from tests.real.traces import HANG_S
from tools.parts.kubernetes.node import is_ready, ready_status


def test_a_node_keeps_what_it_was_registered_with_once_it_is_ready(corner: Corner) -> None:
    taint = {"key": "test.holdfast/joining", "value": "yes", "effect": "NoSchedule"}
    provider_id = "aws:///eu-central-1a/i-0123456789abcdef0"
    name = corner.add_node(
        labels={"topology.kubernetes.io/zone": "eu-central-1a"},
        taints=[taint],
        provider_id=provider_id,
        cpu="4",
        memory="8Gi",
        pods=29,
    )
    node = corner.cluster.request("GET", f"/api/v1/nodes/{name}").ok()
    assert is_ready(node)
    assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == "eu-central-1a"
    assert node["spec"]["providerID"] == provider_id
    assert node["spec"]["taints"] == [taint]
    room = {resource: node["status"]["allocatable"][resource] for resource in ("cpu", "memory", "pods")}
    assert room == {"cpu": "4", "memory": "8Gi", "pods": "29"}


def test_a_node_that_stops_its_heartbeat_becomes_not_ready_and_comes_back_with_it(corner: Corner) -> None:
    cluster, silent, lively = corner.cluster, corner.add_node("silent"), corner.add_node("lively")
    cluster.silence_node(silent)
    node = cluster.wait_for(
        f"/api/v1/nodes/{silent}",
        lambda node: ready_status(node) == "Unknown",
        what="the silent node is NotReady",
        timeout_s=NODE_GRACE_S + HANG_S,
    )
    assert condition(node, "Ready")["reason"] == "NodeStatusUnknown"
    tainted = cluster.wait_for(
        f"/api/v1/nodes/{silent}",
        lambda node: {"NoSchedule", "NoExecute"} <= _effects_of_unreachable(node),
        what="nothing may go there and nothing may stay",
    )
    assert not is_ready(tainted)
    assert is_ready(cluster.request("GET", f"/api/v1/nodes/{lively}").ok())
    cluster.wake_node(silent)
    cluster.wait_until_ready(silent)


def test_pods_of_a_silent_node_are_not_ready_until_it_is_heard_of_again(corner: Corner) -> None:
    silent = corner.add_node("silent")
    corner.running_pod()
    corner.cluster.silence_node(silent)
    _wait_for_readiness(corner, "False")
    corner.cluster.wake_node(silent)
    _wait_for_readiness(corner, "True")


def test_a_pod_on_a_silent_node_can_be_evicted_but_does_not_end_until_the_node_is_back(
    corner: Corner,
) -> None:
    silent = corner.add_node("silent")
    corner.running_pod("stays")
    corner.cluster.silence_node(silent)
    # KWOK hears of nodes in order: once it has served this one, it has let go of the other.
    lively = corner.add_node("lively")
    assert corner.evict("stays").status == 201
    assert corner.running_pod("ends")["spec"]["nodeName"] == lively
    assert corner.evict("ends").status == 201
    corner.wait_until_gone("ends")
    left = corner.cluster.request("GET", corner.path("pods", "stays")).ok()
    assert "deletionTimestamp" in left["metadata"]
    corner.cluster.wake_node(silent)
    corner.wait_until_gone("stays")


def _wait_for_readiness(corner: Corner, status: str) -> None:
    corner.cluster.wait_for(
        corner.path("pods", "web"),
        lambda pod: condition(pod, "Ready")["status"] == status,
        what=f"the pod's Ready is {status}",
    )


def _effects_of_unreachable(node: object) -> set[str]:
    taints = node["spec"].get("taints", []) if isinstance(node, dict) else []
    return {taint["effect"] for taint in taints if taint["key"] == "node.kubernetes.io/unreachable"}
