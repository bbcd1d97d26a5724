"""The load that a campaign puts on a cluster: one deployment under a disruption budget."""

import time
from collections.abc import Callable
from typing import Any

from tools.parts.cluster import Cluster

NAMESPACE = "load"
NAME = "load"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
BUDGETS = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
CPU_REQUEST = "78m"
"""25 of them fill a worker of two processors."""
CPU_USED = "10m"
"""They are quiet: what makes the fleet scale up is that they find no place."""
UNAVAILABLE_MAX = 8


class Late(Exception):
    """Something that must come did not come in time; the message says what."""


class Load:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def create(
        self, replicas: int, *, cpu: str = CPU_REQUEST, unavailable_max: int = UNAVAILABLE_MAX
    ) -> None:
        self._cluster.add_namespace(NAMESPACE)
        labels = {"app": NAME}
        container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
        template = {
            "metadata": {"labels": labels, "annotations": {"holdfast.test/cpu-usage": CPU_USED}},
            "spec": {"containers": [container], "terminationGracePeriodSeconds": 5},
        }
        deployment = {
            "metadata": {"name": NAME},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
        }
        budget = {
            "metadata": {"name": NAME},
            "spec": {"maxUnavailable": unavailable_max, "selector": {"matchLabels": labels}},
        }
        self._cluster.request("POST", DEPLOYMENTS, deployment).ok()
        self._cluster.request("POST", BUDGETS, budget).ok()

    def scale(self, replicas: int) -> None:
        self._cluster.request("PATCH", f"{DEPLOYMENTS}/{NAME}", {"spec": {"replicas": replicas}}).ok()

    def pods(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._cluster.request("GET", PODS).ok()["items"]
        return found

    def running(self) -> int:
        """Pods that run on a node, and are not on their way out."""
        return sum(
            pod["status"].get("phase") == "Running" and not pod["metadata"].get("deletionTimestamp")
            for pod in self.pods()
        )

    def budget_kept(self, replicas: int) -> bool | None:
        """Whether as many pods are healthy as the budget demands; None while it counts by another load."""
        budget = self._cluster.request("GET", f"{BUDGETS}/{NAME}").ok()
        status = budget.get("status", {})
        if status.get("observedGeneration") != budget["metadata"]["generation"]:
            return None
        if status["expectedPods"] != replicas:
            return None
        return bool(status["currentHealthy"] >= status["desiredHealthy"])


def wait(holds: Callable[[], object], what: str, *, timeout_s: float, every_s: float = 0.25) -> None:
    """Return as soon as it holds; raise Late, saying what was waited for, when it does not."""
    deadline_s = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > deadline_s:
            raise Late(f"not within {timeout_s:.0f} s: {what}")
        time.sleep(every_s)
