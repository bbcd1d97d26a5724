"""Pods are bound by the real scheduler, or not, for its reasons."""

from tests.real.corner import Corner, condition

MACHINE_IS_GONE = {"key": "test.holdfast/gone", "value": "soon", "effect": "NoSchedule"}


def test_a_pod_is_bound_by_the_scheduler_and_run_by_kwok(corner: Corner) -> None:
    node = corner.add_node()
    pod = corner.running_pod()
    assert pod["spec"]["nodeName"] == node
    assert condition(pod, "PodScheduled")["status"] == "True"
    assert condition(pod, "Ready")["status"] == "True"
    told = corner.cluster.wait_for(
        corner.path("events") + "?fieldSelector=involvedObject.name%3Dweb,reason%3DScheduled",
        lambda events: events["items"],
        what="the scheduler told of the binding",
    )
    assert told["items"][0]["reportingComponent"] == "default-scheduler"


def test_a_pod_that_fits_nowhere_stays_pending_until_a_node_is_large_enough(corner: Corner) -> None:
    corner.add_node("small", cpu="2")
    corner.create_pod(cpu="6")
    pod = corner.cluster.wait_for(
        corner.path("pods", "web"),
        lambda pod: condition(pod, "PodScheduled"),
        what="the scheduler has tried",
    )
    assert pod["status"]["phase"] == "Pending"
    assert condition(pod, "PodScheduled")["status"] == "False"
    assert condition(pod, "PodScheduled")["reason"] == "Unschedulable"
    assert "Insufficient cpu" in condition(pod, "PodScheduled")["message"]
    large = corner.add_node("large", cpu="8")
    assert corner.wait_for_phase("Running")["spec"]["nodeName"] == large


def test_a_pod_does_not_go_to_a_node_whose_taint_it_does_not_tolerate(corner: Corner) -> None:
    tainted = corner.add_node("tainted", taints=[MACHINE_IS_GONE])
    corner.create_pod()
    pod = corner.cluster.wait_for(
        corner.path("pods", "web"),
        lambda pod: condition(pod, "PodScheduled"),
        what="the scheduler has tried",
    )
    assert "untolerated taint" in condition(pod, "PodScheduled")["message"]
    corner.cluster.request("PATCH", f"/api/v1/nodes/{tainted}", {"spec": {"taints": None}}).ok()
    assert corner.wait_for_phase("Running")["spec"]["nodeName"] == tainted


def test_a_deployment_replaces_a_pod_that_was_evicted(corner: Corner) -> None:
    corner.add_node()
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "nodeSelector": {"test.holdfast/corner": corner.name},
            "containers": [{"name": "main", "image": "none"}],
        },
    }
    body = {
        "metadata": {"name": "web"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }
    corner.cluster.request("POST", corner.path("deployments", api="/apis/apps/v1"), body).ok()
    first = _the_running_pod_but(corner, None)
    assert corner.evict(first).status == 201
    second = _the_running_pod_but(corner, first)
    corner.wait_until_gone(first)
    assert second != first


def _the_running_pod_but(corner: Corner, other: str | None) -> str:
    def running(pods: object) -> list[str]:
        items = pods["items"] if isinstance(pods, dict) else []
        names = [pod["metadata"]["name"] for pod in items if pod["status"]["phase"] == "Running"]
        return [name for name in names if name != other]

    return running(corner.cluster.wait_for(corner.path("pods"), running, what="a pod runs"))[0]
