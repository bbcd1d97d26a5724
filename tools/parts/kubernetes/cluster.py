"""A started cluster, as a test uses it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.parts.kubernetes import commands
from tools.parts.kubernetes.api import Answer, Api
from tools.parts.kubernetes.credentials import write_kubeconfig
from tools.parts.kubernetes.layout import Layout
from tools.parts.kubernetes.node import is_ready, node_object
from tools.parts.running import Running
from tools.parts.stopping import Stopping

TAINTS_OF_A_LOST_NODE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""Kubernetes removes them a moment after the node is Ready."""


@dataclass(frozen=True)
class Cluster(Stopping):
    """A started cluster.  `tokens` has one token for each further user that was asked for."""

    running: Running
    layout: Layout
    api: Api
    tokens: Mapping[str, str]

    @property
    def server(self) -> str:
        return self.api.server

    @property
    def ca_file(self) -> Path:
        return self.api.ca_file

    @property
    def admin_token(self) -> str:
        return self.api.token

    @property
    def kubeconfig(self) -> Path:
        return self.layout.kubeconfig

    def kubeconfig_of(self, user: str) -> Path:
        """A kubeconfig for one of the further users."""
        path = self.layout.folder / f"kubeconfig-{user}"
        write_kubeconfig(path, server=self.server, ca_file=self.ca_file, token=self.tokens[user])
        return path

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        token: str | None = None,
        *,
        content_type: str | None = None,
    ) -> Answer:
        """Ask the apiserver once, as the administrator unless a token is given."""
        return self.api.request(method, path, body, token, content_type=content_type)

    def wait_for(
        self, path: str, holds: Callable[[Any], object], *, what: str, timeout_s: float = 600
    ) -> Any:
        """Read the path until its body satisfies, and return that body."""
        return self.api.wait_for(path, holds, what=what, timeout_s=timeout_s)

    def add_namespace(self, name: str) -> None:
        """Create it and wait for its default service account, without which no pod is admitted."""
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        self.request("POST", "/api/v1/namespaces", body).ok()
        self._wait_for_service_account(name)

    def add_node(
        self,
        name: str,
        *,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[Mapping[str, str]] = (),
        provider_id: str | None = None,
        cpu: str = "2",
        memory: str = "4Gi",
        pods: int = 110,
    ) -> Any:
        """Register a node.  KWOK makes it Ready within a moment: `wait_until_ready` if that matters."""
        body = node_object(
            name,
            labels=labels or {},
            taints=taints,
            provider_id=provider_id,
            cpu=cpu,
            memory=memory,
            pods=pods,
        )
        return self.request("POST", "/api/v1/nodes", body).ok()

    def wait_until_ready(self, *names: str, timeout_s: float = 600) -> None:
        """Return when each node is Ready and pods may go there."""

        def ready_and_open(node: Mapping[str, Any]) -> bool:
            taints = {taint["key"] for taint in node.get("spec", {}).get("taints", [])}
            return is_ready(node) and not taints & set(TAINTS_OF_A_LOST_NODE)

        for name in names:
            path = f"/api/v1/nodes/{name}"
            self.wait_for(path, ready_and_open, what=f"node {name} is Ready", timeout_s=timeout_s)

    def silence_node(self, name: str) -> None:
        """Take the node's kubelet away: no more heartbeats, and its pods neither start nor end.

        KWOK learns of it a moment later: a node that was added after this call and is
        Ready proves that it has.
        """
        self._label_node(name, {commands.SILENT: "true"})

    def wake_node(self, name: str) -> None:
        """Give a silenced node its kubelet back."""
        self._label_node(name, {commands.SILENT: None})

    def service_account_token(self, namespace: str, name: str) -> str:
        """A token for a service account, as its pods carry."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token: str = self.request("POST", path, body).ok()["status"]["token"]
        return token

    def stop(self) -> None:
        self.running.stop()

    def _label_node(self, name: str, labels: Mapping[str, str | None]) -> None:
        self.request("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"labels": labels}}).ok()

    def _wait_for_service_account(self, namespace: str) -> None:
        self.wait_for(
            f"/api/v1/namespaces/{namespace}/serviceaccounts/default",
            lambda body: body["kind"] == "ServiceAccount",
            what=f"namespace {namespace} has its default service account",
        )
