"""A corner of a shared cluster: pods in one namespace, on nodes that only they select."""

import hashlib
from types import TracebackType
from typing import Any, Self

from tools.parts.cluster import Cluster
from tools.parts.kubernetes.api import Answer

CORNER = "test.holdfast/corner"


class Corner:
    def __init__(self, cluster: Cluster, test: str) -> None:
        self.cluster = cluster
        self.name = f"t-{hashlib.sha256(test.encode()).hexdigest()[:10]}"
        self.nodes: list[str] = []

    def __enter__(self) -> Self:
        self.cluster.add_namespace(self.name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in self.nodes:
            self.cluster.request("DELETE", f"/api/v1/nodes/{node}")
        self.cluster.request("DELETE", f"/api/v1/namespaces/{self.name}")

    def add_node(self, suffix: str = "a", **more: Any) -> str:
        """A node that only this corner's pods select, Ready when this returns."""
        name = f"{self.name}-{suffix}"
        self.nodes.append(name)
        self.cluster.add_node(name, labels={CORNER: self.name, **more.pop("labels", {})}, **more)
        self.cluster.wait_until_ready(name)
        return name

    def path(self, kind: str, name: str = "", api: str = "/api/v1") -> str:
        return f"{api}/namespaces/{self.name}/{kind}" + (f"/{name}" if name else "")

    def create_pod(self, name: str = "web", *, cpu: str = "100m") -> Any:
        container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
        body = {
            "metadata": {"name": name, "labels": {"app": "web"}},
            "spec": {"nodeSelector": {CORNER: self.name}, "containers": [container]},
        }
        return self.cluster.request("POST", self.path("pods"), body).ok()

    def running_pod(self, name: str = "web") -> Any:
        """A pod that was created and is Running by now."""
        self.create_pod(name)
        return self.wait_for_phase("Running", name)

    def wait_for_phase(self, phase: str, name: str = "web") -> Any:
        return self.cluster.wait_for(
            self.path("pods", name),
            lambda pod: isinstance(pod["status"], dict) and pod["status"].get("phase") == phase,
            what=f"pod {name} is {phase}",
        )

    def wait_until_gone(self, name: str = "web") -> None:
        self.cluster.wait_for(
            self.path("pods", name), lambda body: body.get("code") == 404, what=f"pod {name} is gone"
        )

    def set_budget(self, name: str, *, min_available: int, allows: int) -> None:
        """Create a budget over the corner's pods, or change it, and wait until it allows that many."""
        api, spec = "/apis/policy/v1", {"minAvailable": min_available}
        path = self.path("poddisruptionbudgets", name, api)
        if self.cluster.request("GET", path).status == 404:
            body = {
                "metadata": {"name": name},
                "spec": {**spec, "selector": {"matchLabels": {"app": "web"}}},
            }
            changed = self.cluster.request("POST", self.path("poddisruptionbudgets", api=api), body).ok()
        else:
            changed = self.cluster.request("PATCH", path, {"spec": spec}).ok()
        self.cluster.wait_for(
            path,
            lambda budget: (
                budget["status"].get("observedGeneration") == changed["metadata"]["generation"]
                and budget["status"]["disruptionsAllowed"] == allows
            ),
            what=f"budget {name} allows {allows}",
        )

    def evict(self, name: str = "web", **delete_options: Any) -> Answer:
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": self.name},
            "deleteOptions": delete_options,
        }
        return self.cluster.request("POST", f"{self.path('pods', name)}/eviction", body)


def condition(thing: Any, kind: str) -> Any:
    """One condition out of a status; empty if it is not there."""
    return next((c for c in thing["status"].get("conditions", []) if c["type"] == kind), {})
