"""Workloads of one namespace: made, rolled out, and the pods that their controllers have brought."""

from dataclasses import dataclass
from typing import Any

from tests.real.corner import CORNER, Corner

APPS = "/apis/apps/v1"
RESOURCES = {"StatefulSet": "statefulsets", "Deployment": "deployments", "DaemonSet": "daemonsets"}


@dataclass(frozen=True)
class Workload:
    """Pods called `<name>…`, on the nodes of the corner."""

    corner: Corner
    kind: str
    name: str

    @property
    def path(self) -> str:
        return self.corner.path(RESOURCES[self.kind], self.name, APPS)

    def create(self, replicas: int | None = None, **strategy: Any) -> None:
        spec: dict[str, Any] = {
            "selector": {"matchLabels": {"app": self.name}},
            "template": {
                "metadata": {"labels": {"app": self.name, "release": "1"}},
                "spec": {
                    "nodeSelector": {CORNER: self.corner.name},
                    "terminationGracePeriodSeconds": 0,
                    "containers": [{"name": "main", "image": "none"}],
                },
            },
            **({} if replicas is None else {"replicas": replicas}),
            **({"serviceName": self.name} if self.kind == "StatefulSet" else {}),
            **strategy,
        }
        body = {"apiVersion": "apps/v1", "kind": self.kind, "metadata": {"name": self.name}, "spec": spec}
        path = self.corner.path(RESOURCES[self.kind], api=APPS)
        self.corner.cluster.request("POST", path, body).ok()

    def change(self, **spec: Any) -> None:
        self.corner.cluster.request("PATCH", self.path, {"spec": spec}).ok()

    def roll_out(self, release: str, **pod_spec: Any) -> None:
        template = {"metadata": {"labels": {"release": release}}, "spec": pod_spec}
        self.change(template=template)

    def pods(self, *, phase: str = "") -> list[Any]:
        """Those that are there and not on their way out."""
        path = f"{self.corner.path('pods')}?labelSelector=app%3D{self.name}"
        items = self.corner.cluster.request("GET", path).ok()["items"]
        return [
            pod
            for pod in items
            if "deletionTimestamp" not in pod["metadata"]
            and (not phase or pod.get("status", {}).get("phase") == phase)
        ]

    def names(self, *, release: str = "", phase: str = "") -> list[str]:
        return [
            pod["metadata"]["name"]
            for pod in self.pods(phase=phase)
            if not release or pod["metadata"]["labels"]["release"] == release
        ]
