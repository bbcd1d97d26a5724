"""Joining a real API server."""

from pathlib import Path

from tools.parts.boot.cluster import KubernetesApi, Node, NotJoined, refuse_another_owner
from tools.parts.kubernetes.api import Answer, Api
from tools.parts.kubernetes.commands import SILENT


class KubernetesCluster:
    """Nodes are objects of an API server; KWOK keeps them Ready while their instance lives."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = Api(api.url, Path(api.ca_file), api.token)

    def join(self, node: Node) -> None:
        try:
            answer = self._api.request("POST", "/api/v1/nodes", node)
            if answer.status == 409:
                refuse_another_owner(self._api.request("GET", _path(node)).body, node)
                answer = self._label(node, None)
        except OSError as error:
            raise NotJoined(f"{self._api.server} cannot be reached: {error}") from error
        if answer.status >= 300:
            raise NotJoined(f"the API server answered {answer.status}: {answer.body}")

    def stop_kubelet(self, node: Node) -> None:
        """No heartbeat any more: after its grace period the control plane itself says NotReady."""
        self._label(node, "true")

    def _label(self, node: Node, silent: str | None) -> Answer:
        return self._api.request("PATCH", _path(node), {"metadata": {"labels": {SILENT: silent}}})


def _path(node: Node) -> str:
    return f"/api/v1/nodes/{node['metadata']['name']}"
