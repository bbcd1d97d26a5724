"""Own pod, its owner, the number that the owner wants; anything else is not known, with what mends it."""

from typing import Any

import pytest

from holdfast.adapters.kubernetes.client import Client
from holdfast.adapters.kubernetes.expected_workers import CALLS, OwnersReplicas
from holdfast.kernel import Busy, Invalid
from holdfast.leases.ports import NotKnown
from tests.adapters.kubernetes.kubernetes_stub import TOKEN, Said, Stub, saying

FORBIDDEN = 'User "system:serviceaccount:shop:worker" cannot get resource'


def owned(kind: str = "", name: str = "workers", *, api: str = "apps/v1", controller: bool = True) -> Said:
    owner = {"kind": kind, "name": name, "apiVersion": api, "controller": controller}
    return Said(body={"metadata": {"name": "any", "ownerReferences": [owner] if kind else []}})


def wants(replicas: int | None = None, *, scheduled: int | None = None) -> Said:
    spec = {} if replicas is None else {"replicas": replicas}
    status = {} if scheduled is None else {"desiredNumberScheduled": scheduled}
    return Said(body={"metadata": {"name": "workers"}, "spec": spec, "status": status})


def ask(stub: Stub) -> int | NotKnown:
    client = Client(stub.access)
    try:
        return OwnersReplicas(lambda: client, namespace="shop", pod="workers-0").expected()
    finally:
        client.close()


def why(stub: Stub) -> str:
    found = ask(stub)
    assert isinstance(found, NotKnown)
    assert TOKEN not in found.why
    return found.why


def test_a_stateful_set_is_asked_for_its_replicas() -> None:
    with saying(owned("StatefulSet"), wants(5)) as stub:
        assert ask(stub) == 5
    assert stub.asked == [
        "GET /api/v1/namespaces/shop/pods/workers-0",
        "GET /apis/apps/v1/namespaces/shop/statefulsets/workers",
    ]


def test_behind_a_replica_set_its_deployment_is_asked() -> None:
    with saying(owned("ReplicaSet", "workers-7d9f"), owned("Deployment"), wants(4)) as stub:
        assert ask(stub) == 4
    assert stub.asked[1:] == [
        "GET /apis/apps/v1/namespaces/shop/replicasets/workers-7d9f",
        "GET /apis/apps/v1/namespaces/shop/deployments/workers",
    ]


def test_a_daemon_set_is_asked_how_many_it_wants_scheduled() -> None:
    with saying(owned("DaemonSet"), wants(scheduled=3)) as stub:
        assert ask(stub) == 3


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        ([owned()], "pod workers-0 belongs to no controller"),
        ([owned("Job")], "pod workers-0 belongs to Job workers"),
        ([owned("StatefulSet", controller=False)], "belongs to no controller"),
        ([owned("StatefulSet", api="apps.kruise.io/v1beta1")], "belongs to StatefulSet workers"),
        ([owned("ReplicaSet", "r"), owned("Rollout", "w")], "ReplicaSet r belongs to Rollout w, and not"),
        ([owned("ReplicaSet", "r"), owned()], "ReplicaSet r belongs to no controller"),
        ([owned("StatefulSet"), wants(0)], "StatefulSet workers wants 0 pods"),
        ([owned("DaemonSet"), wants()], "DaemonSet workers wants 0 pods"),
        ([owned("StatefulSet"), wants()], "StatefulSet workers wants 0 pods"),
        ([Said(404)], "there is no pod workers-0 in namespace shop"),
        ([owned("StatefulSet"), Said(404)], "there is no statefulset workers in namespace shop"),
        ([Said(200, b"<html>")], "the answer is not what Kubernetes sends"),
    ],
)
def test_anything_else_is_not_known_and_the_variable_that_mends_it_is_named(
    says: list[Said], reason: str
) -> None:
    with saying(*says) as stub:
        told = why(stub)
    assert reason in told
    assert "set KDS_WORKER_COUNT to the number of workers" in told


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_each_missing_grant_is_named(call: Any) -> None:
    forbidden = Said(403, {"message": FORBIDDEN, "reason": "Forbidden"})
    before: dict[str, list[Said]] = {
        "pods": [],
        "statefulsets": [owned("StatefulSet")],
        "replicasets": [owned("ReplicaSet")],
        "deployments": [owned("ReplicaSet"), owned("Deployment")],
        "daemonsets": [owned("DaemonSet")],
    }
    with saying(*before[call.resource], forbidden) as stub:
        told = why(stub)
    assert f"grant verb `get` on `{call.resource}`" in told
    assert "deploy/kubernetes/leases-rbac.yaml" in told


def test_an_api_server_that_fails_is_not_known_for_this_time() -> None:
    with saying(Said(503)) as stub:
        assert "the Kubernetes API gave no answer" in why(stub)


@pytest.mark.parametrize("error", [Invalid("no kubeconfig"), Busy("exec plugin hangs")])
def test_signing_in_that_fails_is_not_known_and_is_tried_again(error: Exception) -> None:
    tried: list[int] = []

    def connect() -> Client:
        tried.append(1)
        raise error

    workers = OwnersReplicas(connect, namespace="shop", pod="workers-0")
    for _ in range(2):
        found = workers.expected()
        assert isinstance(found, NotKnown)
        assert str(error) in found.why
    assert len(tried) == 2
