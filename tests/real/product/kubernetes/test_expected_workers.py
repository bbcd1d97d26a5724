"""The number of workers on a real control plane, as the shipped Role lets a worker ask for it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
import yaml

from holdfast.adapters.kubernetes.auth.access import Access
from holdfast.adapters.kubernetes.auth.trust import authority
from holdfast.adapters.kubernetes.client import Client
from holdfast.adapters.kubernetes.expected_workers import CALLS, MANIFEST, OwnersReplicas
from holdfast.leases.ports import NotKnown
from tests.real.corner import Corner
from tests.real.traces import wait_until
from tests.real.workload import Workload
from tests.tidy.repository import ROOT

AUTOSCALING = ROOT / "deploy" / "kubernetes" / "leases-hpa.yaml"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
APIS = {
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "Role": (RBAC, "roles"),
    "RoleBinding": (RBAC, "rolebindings"),
}


class Account:
    """A worker's account in one namespace, by the shipped manifest."""

    def __init__(self, corner: Corner, closing: ExitStack) -> None:
        self.corner = corner
        for document in yaml.safe_load_all((ROOT / MANIFEST).read_text()):
            api, resource = APIS[document["kind"]]
            corner.cluster.request("POST", corner.path(resource, api=api), document).ok()
            if document["kind"] == "Role":
                self.rules: list[Any] = document["rules"]
        token = corner.cluster.service_account_token(corner.name, "holdfast-leases")
        trust = authority("the cluster's CA", file=str(corner.cluster.ca_file))
        self.client = Client(lambda: Access(corner.cluster.server, "a test", trust, lambda: token))
        closing.callback(self.client.close)

    def expected(self, pod: str) -> int | NotKnown:
        return OwnersReplicas(lambda: self.client, namespace=self.corner.name, pod=pod).expected()

    def grant(self, rules: list[Any]) -> None:
        path = self.corner.path("roles", "holdfast-leases", RBAC)
        self.corner.cluster.request("PATCH", path, {"rules": rules}).ok()


@pytest.fixture
def account(corner: Corner) -> Iterator[Account]:
    with ExitStack() as closing:
        yield Account(corner, closing)


def pods_of(workload: Workload, count: int, **which: str) -> list[str]:
    wait_until(lambda: len(workload.names(**which)) >= count, f"{count} pods of {workload.name} are there")
    return workload.names(**which)


@contextmanager
def kept(corner: Corner, pod: str) -> Iterator[None]:
    """It stays until the end, whatever its owner wants: KWOK's pods are gone in no time."""
    path = corner.path("pods", pod)
    corner.cluster.request("PATCH", path, {"metadata": {"finalizers": ["example.com/kept"]}}).ok()
    try:
        yield
    finally:
        corner.cluster.request("PATCH", path, {"metadata": {"finalizers": None}})


def test_a_stateful_set_and_a_daemon_set_say_how_many_they_want(corner: Corner, account: Account) -> None:
    nodes = [corner.add_node(suffix) for suffix in "ab"]
    workers = Workload(corner, "StatefulSet", "workers")
    workers.create(3)
    wait_until(lambda: account.expected("workers-0") == 3, "the first pod knows of three")
    workers.change(replicas=5)
    assert account.expected("workers-0") == 5
    with kept(corner, "workers-0"):
        workers.change(replicas=0)
        assert "StatefulSet workers wants 0 pods" in why(account, "workers-0")
    everywhere = Workload(corner, "DaemonSet", "everywhere")
    everywhere.create()
    (pod, *_) = pods_of(everywhere, len(nodes))
    wait_until(lambda: account.expected(pod) == len(nodes), "a pod a node")


def test_in_the_middle_of_a_rollout_both_pods_of_a_deployment_say_the_whole_number(
    corner: Corner, account: Account
) -> None:
    corner.add_node()
    workers = Workload(corner, "Deployment", "workers")
    workers.create(4, strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
    old, *_ = pods_of(workers, 4, phase="Running")
    # Pods of the new release fit no node, so the rollout stops in the middle.
    workers.roll_out("2", nodeSelector={"no": "such-node"})
    new, *_ = pods_of(workers, 1, release="2")
    sets = corner.cluster.request("GET", corner.path("replicasets", api="/apis/apps/v1")).ok()["items"]
    assert sorted(each["spec"]["replicas"] for each in sets) != [0, 4], "two sets have a part each"
    assert [account.expected(pod) for pod in (old, new)] == [4, 4]


def test_a_bare_pod_and_one_that_is_not_there_are_not_known(corner: Corner, account: Account) -> None:
    corner.create_pod("alone")
    wait_until(lambda: "no controller" in why(account, "alone"), "the binding has come into force")
    for pod, reason in (("alone", "belongs to no controller"), ("nosuch", "there is no pod nosuch")):
        told = why(account, pod)
        assert reason in told
        assert "set KDS_WORKER_COUNT" in told


def why(account: Account, pod: str) -> str:
    told = account.expected(pod)
    assert isinstance(told, NotKnown), told
    return told.why


def test_each_missing_grant_is_named_and_is_never_a_number(corner: Corner, account: Account) -> None:
    corner.add_node()
    for kind, name in (("StatefulSet", "set"), ("Deployment", "deployment"), ("DaemonSet", "daemon")):
        Workload(corner, kind, name).create(None if kind == "DaemonSet" else 1)
    pods = {
        kind: pods_of(Workload(corner, kind, name), 1)[0]
        for kind, name in (("StatefulSet", "set"), ("Deployment", "deployment"), ("DaemonSet", "daemon"))
    }
    asks = {
        "pods": "StatefulSet",
        "statefulsets": "StatefulSet",
        "replicasets": "Deployment",
        "deployments": "Deployment",
        "daemonsets": "DaemonSet",
    }
    assert set(asks) == {call.resource for call in CALLS}
    for pod in pods.values():
        wait_until(lambda pod=pod: account.expected(pod) == 1, "everything is granted")  # type: ignore[misc]
    for call in CALLS:
        left = [
            {**rule, "resources": [each for each in rule["resources"] if each != call.resource]}
            for rule in account.rules
            if rule["resources"] != [call.resource]
        ]
        account.grant(left)
        pod = pods[asks[call.resource]]
        wait_until(lambda pod=pod: account.expected(pod) != 1, f"{call} is denied")  # type: ignore[misc]
        told = why(account, pod)
        assert f"grant verb `get` on `{call.resource}`" in told
        assert MANIFEST in told
        account.grant(account.rules)
        wait_until(lambda pod=pod: account.expected(pod) == 1, f"{call} is granted again")  # type: ignore[misc]


def test_it_may_read_nothing_else(corner: Corner, account: Account) -> None:
    token = corner.cluster.service_account_token(corner.name, "holdfast-leases")
    for path in (
        corner.path("secrets"),
        corner.path("pods"),
        "/api/v1/nodes",
        "/apis/apps/v1/namespaces/default/deployments/any",
    ):
        assert corner.cluster.request("GET", path, token=token).status == 403, path


def test_the_example_for_the_pod_autoscaler_is_accepted(corner: Corner) -> None:
    path = corner.path(
        "horizontalpodautoscalers?dryRun=All&fieldValidation=Strict", api="/apis/autoscaling/v2"
    )
    answer = corner.cluster.request("POST", path, yaml.safe_load(AUTOSCALING.read_text()))
    assert answer.status == 201, answer.body
