"""With the shipped manifest every call is allowed; without any one of its rules, that one is denied."""

import copy
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec
import pytest
import yaml

from holdfast.adapters.kubernetes import CALLS, Call, Denied, KubernetesApi, volumes
from holdfast.adapters.kubernetes.auth.access import Access
from holdfast.adapters.kubernetes.auth.trust import authority
from holdfast.adapters.kubernetes.calls import GET_NAMESPACE, REVIEW_ACCESS
from holdfast.adapters.kubernetes.client import Client
from holdfast.adapters.kubernetes.errors import translate_answer
from holdfast.adapters.kubernetes.metrics import MetricsServer
from holdfast.adapters.kubernetes.permissions import can_i
from holdfast.adapters.kubernetes.watch.watches import KINDS
from holdfast.cloud.announcements import Announcement
from holdfast.cloud.kubernetes import Eviction, KubeNode, Meta, Pod
from tests.real.corner import Corner
from tests.real.product import manifest
from tests.real.product.kubernetes.seeing import changed
from tests.real.traces import wait_until
from tools.parts.cluster import Cluster

ROLE = f"{manifest.RBAC}/clusterroles/holdfast-autoscaler"
TOLD = Announcement("Node", "absent", "0", "ScaleDown", "a test")
ABSENT = Pod(metadata=Meta(name="absent", namespace="default", uid="0"))


@pytest.fixture(scope="module")
def applied(cluster: Cluster) -> Iterator[list[Any]]:
    with manifest.applied(cluster) as documents:
        yield documents


@pytest.fixture(scope="module")
def rules(applied: list[Any]) -> list[Any]:
    (role,) = (document for document in applied if document["kind"] == "ClusterRole")
    return list(role["rules"])


@pytest.fixture(scope="module")
def api(cluster: Cluster, applied: list[Any]) -> Iterator[KubernetesApi]:
    """The adapter, signed in as the manifest's service account."""
    token = manifest.token_of_the_account(cluster)
    trust = authority("the cluster's CA", file=str(cluster.ca_file))
    with KubernetesApi(Client(lambda: Access(cluster.server, "a test", trust, lambda: token))) as made:
        wait_until(lambda: allowed(made.nodes), "the binding has come into force")
        yield made


def allowed(call: Callable[[], object]) -> bool:
    try:
        call()
    except Denied:
        return False
    return True


def recordon(api: KubernetesApi, name: str) -> KubeNode:
    """Cordon it, or lift the cordon: whatever changes something."""

    def other_way(node: KubeNode) -> KubeNode:
        spec = msgspec.structs.replace(node.spec, unschedulable=not node.spec.unschedulable)
        return msgspec.structs.replace(node, spec=spec)

    return changed(api, name, other_way)


def ask_metrics(api: KubernetesApi) -> None:
    """No metrics-server is there, so a user that may ask is told 404."""
    problem = MetricsServer(api.client, max_age_s=60).load([], [], 60).problem
    if " 403 " in problem:
        raise Denied(problem)
    assert " 404 " in problem


def watch(api: KubernetesApi, call: Call, path: str) -> None:
    """Until the head of the answer."""
    stream = api.client.stream(call, path, {"watch": "true", "timeoutSeconds": "1"}, silence_max_s=30)
    try:
        if stream.status != 200:
            raise translate_answer(call, stream.whole(), writes=False)
    finally:
        stream.close()


def attempts(api: KubernetesApi, node: str) -> Mapping[Call, Callable[[], object]]:
    """Each call of the product, by the method of the adapter that makes it."""
    return {
        GET_NAMESPACE: api.cluster_uid,
        Call("list", "namespaces"): api.namespaces,
        Call("list", "nodes"): api.nodes,
        Call("get", "nodes"): lambda: api.node(node),
        Call("patch", "nodes"): lambda: recordon(api, node),
        Call("delete", "nodes"): lambda: api.delete_node("absent", "0"),
        Call("list", "pods"): api.pods,
        Call("delete", "pods"): lambda: api.delete_pod(ABSENT, grace_s=1),
        Call("create", "pods/eviction"): lambda: api.evict(ABSENT),
        Call("create", "events"): lambda: api.announce(TOLD, 1_700_000_000.0),
        Call("list", "poddisruptionbudgets", "policy"): api.budgets,
        Call("list", "persistentvolumeclaims"): lambda: volumes.claims(api.client),
        Call("list", "persistentvolumes"): lambda: volumes.persistent_volumes(api.client),
        Call("list", "storageclasses", "storage.k8s.io"): lambda: volumes.storage_classes(api.client),
        Call("list", "csinodes", "storage.k8s.io"): lambda: volumes.csi_nodes(api.client),
        Call("list", "csidrivers", "storage.k8s.io"): lambda: volumes.csi_drivers(api.client),
        **{kind.watch_call: partial(watch, api, kind.watch_call, kind.path) for kind in KINDS},
        Call("list", "nodes", "metrics.k8s.io"): lambda: ask_metrics(api),
    }


def without(rules: list[Any], call: Call) -> list[Any]:
    """The same rules, but this verb on this resource."""
    found = False
    left = []
    for rule in copy.deepcopy(rules):
        granted = rule["apiGroups"] == [call.group] and rule["resources"] == [call.resource]
        if granted and call.verb in rule["verbs"]:
            found = True
            rule["verbs"].remove(call.verb)
        if rule["verbs"]:
            left.append(rule)
    assert found, f"no rule grants {call}"
    return left


def test_a_whole_scale_down_is_allowed(corner: Corner, api: KubernetesApi) -> None:
    name = corner.add_node()
    corner.running_pod("moved")
    corner.running_pod("killed")
    corner.set_budget("any", min_available=0, allows=2)
    recordon(api, name)
    pods = {pod.metadata.name: pod for pod in api.pods(name)}
    assert api.evict(pods["moved"], dry_run=True).outcome is Eviction.ACCEPTED
    assert api.evict(pods["moved"]).outcome is Eviction.ACCEPTED
    api.delete_pod(pods["killed"], grace_s=1)
    for pod in ("moved", "killed"):
        corner.wait_until_gone(pod)
    node = api.node(name)
    assert node is not None
    api.delete_node(name, node.metadata.uid)
    assert api.node(name) is None


def test_nothing_else_is_allowed(cluster: Cluster, applied: list[Any]) -> None:
    token = manifest.token_of_the_account(cluster)
    for method, path in (
        ("GET", "/api/v1/secrets"),
        ("GET", "/api/v1/namespaces/holdfast/secrets/holdfast-autoscaler-token"),
        ("GET", "/api/v1/configmaps"),
        ("POST", "/api/v1/namespaces/default/pods"),
        ("DELETE", "/api/v1/nodes"),
        ("GET", ROLE),
    ):
        answer = cluster.request(method, path, {} if method == "POST" else None, token=token)
        assert answer.status == 403, f"{method} {path}: {answer.status}"


def test_the_doctor_finds_nothing_to_mend(api: KubernetesApi) -> None:
    assert [permission.fix for permission in can_i(api.client, (*CALLS, REVIEW_ACCESS))] == [""] * (
        len(CALLS) + 1
    )


def test_the_deployment_is_one_that_the_api_server_takes(cluster: Cluster, applied: list[Any]) -> None:
    places = {
        "ConfigMap": "/api/v1/namespaces/holdfast/configmaps",
        "Deployment": "/apis/apps/v1/namespaces/holdfast/deployments",
        "PodDisruptionBudget": "/apis/policy/v1/namespaces/holdfast/poddisruptionbudgets",
    }
    for document in yaml.safe_load_all(manifest.PATH.with_name("autoscaler.yaml").read_text()):
        path = f"{places[document['kind']]}?dryRun=All&fieldValidation=Strict"
        answer = cluster.request("POST", path, document)
        assert answer.status == 201, answer


def test_each_call_of_the_product_is_tried_here(api: KubernetesApi) -> None:
    assert set(attempts(api, "any")) == set(CALLS)


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_without_its_rule_exactly_this_call_is_denied_with_the_fix(
    corner: Corner, api: KubernetesApi, rules: list[Any], call: Call
) -> None:
    cluster, tries = corner.cluster, attempts(api, corner.add_node())
    if call == Call("get", "nodes"):
        tries = {
            each: attempt for each, attempt in tries.items() if each != Call("patch", "nodes")
        }  # reads first
    cluster.request("PATCH", ROLE, {"rules": without(rules, call)}).ok()
    try:
        wait_until(lambda: not allowed(tries[call]), f"{call} is no longer granted")
        with pytest.raises(Denied) as denied:
            tries[call]()
        assert f"grant verb `{call.verb}` on `{call.resource}`" in str(denied.value) or " 403 " in str(
            denied.value
        )
        assert {str(each) for each, attempt in tries.items() if not allowed(attempt)} == {str(call)}
        (missing,) = (permission for permission in can_i(api.client) if not permission.allowed)
        assert (missing.call, missing.fix) == (call, call.fix)
    finally:
        cluster.request("PATCH", ROLE, {"rules": rules}).ok()
        wait_until(lambda: allowed(tries[call]), f"{call} is granted again")
