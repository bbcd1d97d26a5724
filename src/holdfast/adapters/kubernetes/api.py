"""Nodes, pods and disruption budgets of a real API server: read, changed, evicted, deleted."""

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import msgspec

from holdfast.adapters.kubernetes import calls
from holdfast.adapters.kubernetes.auth.cluster_access import ClusterAccess
from holdfast.adapters.kubernetes.auth.sign_in import choose
from holdfast.adapters.kubernetes.client import (
    CONNECT_TIMEOUT_S,
    JSON_PATCH,
    NO_QUERY,
    READ_TIMEOUT_S,
    Client,
)
from holdfast.adapters.kubernetes.errors import Answer, translate_answer
from holdfast.adapters.kubernetes.lists import Page, decoded, listed
from holdfast.adapters.kubernetes.writes import (
    delete_options,
    event,
    eviction,
    is_another,
    is_failed_precondition,
    node_patch,
    translate_eviction,
)
from holdfast.cloud.announcements import Announcement
from holdfast.cloud.kubernetes import Budget, Evicted, KubeNode, Namespace, Pod
from holdfast.cloud.volumes import VolumeLists
from holdfast.kernel import Conflict, Unknown

KUBE_SYSTEM = "/api/v1/namespaces/kube-system"
NAMESPACES = "/api/v1/namespaces"
NODES = "/api/v1/nodes"
PODS = "/api/v1/pods"
BUDGETS = "/apis/policy/v1/poddisruptionbudgets"

_namespace = msgspec.json.Decoder(Namespace)
_namespaces = msgspec.json.Decoder(Page[Namespace])
_node = msgspec.json.Decoder(KubeNode)
_nodes = msgspec.json.Decoder(Page[KubeNode])
_pods = msgspec.json.Decoder(Page[Pod])
_budgets = msgspec.json.Decoder(Page[Budget])
_version = msgspec.json.Decoder(dict[str, Any])


def connect(
    to: ClusterAccess,
    *,
    environ: Mapping[str, str] = os.environ,
    connect_timeout_s: float = CONNECT_TIMEOUT_S,
    read_timeout_s: float = READ_TIMEOUT_S,
) -> "KubernetesApi":
    """The API server that the operator and the environment name.

    A wrong setting raises Invalid.  No request is made and no token fetched, but the command of a
    kubeconfig's `exec` is run: Busy if it fails or hangs.
    """
    sign_in = choose(to, environ)
    return KubernetesApi(Client(sign_in, connect_timeout_s=connect_timeout_s, read_timeout_s=read_timeout_s))


class KubernetesApi:
    """See `holdfast.autoscaler.ports.Kubernetes`; also raises Denied, an Invalid."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def __repr__(self) -> str:
        return f"KubernetesApi({self.client!r})"

    def cluster_uid(self) -> str:
        body = self.client.read(calls.GET_NAMESPACE, KUBE_SYSTEM)
        return decoded(calls.GET_NAMESPACE, _namespace, body).metadata.uid

    def namespaces(self) -> Sequence[Namespace]:
        return listed(self.client, calls.LIST_NAMESPACES, NAMESPACES, _namespaces)

    def nodes(self) -> Sequence[KubeNode]:
        return listed(self.client, calls.LIST_NODES, NODES, _nodes)

    def pods(self, node_name: str | None = None) -> Sequence[Pod]:
        query = NO_QUERY if node_name is None else {"fieldSelector": f"spec.nodeName={node_name}"}
        return listed(self.client, calls.LIST_PODS, PODS, _pods, query)

    def budgets(self) -> Sequence[Budget]:
        return listed(self.client, calls.LIST_BUDGETS, BUDGETS, _budgets)

    def volumes(self) -> VolumeLists:
        from holdfast.adapters.kubernetes.volumes import volume_lists  # few ticks ask for them

        return volume_lists(self.client)

    def node(self, name: str) -> KubeNode | None:
        answer = self.client.ask(calls.GET_NODE, "GET", _node_path(name), writes=False)
        if answer.status == 404:
            return None
        if not answer.is_success:
            raise translate_answer(calls.GET_NODE, answer, writes=False)
        return decoded(calls.GET_NODE, _node, answer.body)

    def change_node(self, node: KubeNode, changed: KubeNode) -> KubeNode:
        call, name = calls.PATCH_NODE, node.metadata.name
        patch = node_patch(node, changed)
        answer = self.client.ask(
            call, "PATCH", _node_path(name), body=patch, writes=True, content_type=JSON_PATCH
        )
        if is_failed_precondition(answer):
            raise Conflict(f"{call}: {name} is no longer at {node.metadata.resource_version}")
        if not answer.is_success:
            raise translate_answer(call, answer, writes=True)
        try:
            return _node.decode(answer.body)
        except msgspec.DecodeError as error:
            raise Unknown(f"{call}: {name}: the answer is not what Kubernetes sends: {error}") from error

    def evict(self, pod: Pod, *, grace_s: int | None = None, dry_run: bool = False) -> Evicted:
        body = eviction(pod, grace_s, dry_run=dry_run)
        path = f"{_pod_path(pod)}/eviction"
        answer = self.client.ask(calls.EVICT_POD, "POST", path, body=body, writes=not dry_run)
        return translate_eviction(pod, answer, writes=not dry_run)

    def delete_pod(self, pod: Pod, *, grace_s: int) -> None:
        body = delete_options(pod.metadata.uid, grace_s)
        call = calls.DELETE_POD
        _check_deleted(call, self.client.ask(call, "DELETE", _pod_path(pod), body=body, writes=True))

    def delete_node(self, name: str, uid: str) -> None:
        body = delete_options(uid, None)
        call = calls.DELETE_NODE
        _check_deleted(call, self.client.ask(call, "DELETE", _node_path(name), body=body, writes=True))

    def announce(self, announcement: Announcement, at_s: float) -> None:
        body, call = event(announcement, at_s), calls.CREATE_EVENT
        path = f"/api/v1/namespaces/{quote(body['metadata']['namespace'], safe='')}/events"
        answer = self.client.ask(call, "POST", path, body=body, writes=True)
        if not answer.is_success:
            raise translate_answer(call, answer, writes=True)

    def version(self) -> str:
        """Of the API server: a first word with it, which needs no right."""
        body = self.client.read(calls.GET_VERSION, "/version")
        return str(decoded(calls.GET_VERSION, _version, body).get("gitVersion", ""))

    def close(self) -> None:
        self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check_deleted(call: calls.Call, answer: Answer) -> None:
    """What is gone, or has become another, needs no deleting."""
    if not answer.is_success and answer.status != 404 and not is_another(answer):
        raise translate_answer(call, answer, writes=True)


def _node_path(name: str) -> str:
    return f"{NODES}/{quote(name, safe='')}"


def _pod_path(pod: Pod) -> str:
    meta = pod.metadata
    return f"/api/v1/namespaces/{quote(meta.namespace, safe='')}/pods/{quote(meta.name, safe='')}"
