"""Thousands of pods come in chunks, whole, and as of one moment."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast.adapters.kubernetes import KubernetesApi
from holdfast.kernel import Busy
from holdfast.testing.proxy import HALF_ANSWER, PASS, RESET_BEFORE, Fate
from tests.real.corner import CORNER, Corner
from tests.real.product.kubernetes.relay import faulty
from tests.real.product.kubernetes.seeing import node_of, pod_of
from tools.parts.cluster import Cluster

NAMES = [f"crowd-{n:04}" for n in range(1100)]


def create_waiting(corner: Corner, name: str) -> None:
    """A pod that no scheduler will ever place."""
    body = {
        "metadata": {"name": name, "labels": {"app": "crowd"}},
        "spec": {"schedulerName": "none", "containers": [{"name": "main", "image": "none"}]},
    }
    corner.cluster.request("POST", corner.path("pods"), body).ok()


@pytest.fixture(scope="module")
def crowd(cluster: Cluster) -> Iterator[Corner]:
    """A namespace with more pods than two pages hold."""
    with Corner(cluster, "crowd") as corner:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda name: create_waiting(corner, name), NAMES))
        yield corner


def test_more_than_a_thousand_pods_come_whole_and_in_chunks(crowd: Corner) -> None:
    with faulty(crowd.cluster) as (api, proxy):
        found = [pod for pod in api.pods() if pod.metadata.namespace == crowd.name]
        requests = [exchange.request_line for exchange in proxy.log]
    assert sorted(pod.metadata.name for pod in found) == NAMES
    assert len({pod.metadata.uid for pod in found}) == len(NAMES)
    assert len(requests) == 3
    assert all("limit=500" in line and "resourceVersion" not in line for line in requests)
    assert ["continue=" in line for line in requests] == [False, True, True]


@pytest.mark.parametrize("fate", [RESET_BEFORE, HALF_ANSWER], ids=repr)
def test_a_server_that_goes_away_in_the_middle_gives_no_half_list(crowd: Corner, fate: Fate) -> None:
    with faulty(crowd.cluster, PASS, fate) as (api, proxy):
        with pytest.raises(Busy, match="list pods"):
            api.pods()
        assert len(proxy.log) == 2


def test_a_pod_is_decoded_with_all_that_decisions_need(corner: Corner, api: KubernetesApi) -> None:
    name = corner.add_node()
    said = corner.running_pod()
    pod = pod_of(api, corner)
    assert pod.metadata.uid == said["metadata"]["uid"]
    assert (pod.spec.node_name, pod.status.phase) == (name, "Running")
    assert pod.spec.containers[0].resources.requests == {"cpu": "100m"}
    assert pod.spec.node_selector == {CORNER: corner.name}
    assert pod.metadata.deletion_timestamp is None


def test_the_pods_of_one_node_are_those_bound_to_it_and_no_other(corner: Corner, api: KubernetesApi) -> None:
    name = corner.add_node()
    corner.running_pod()
    create_waiting(corner, "waits")
    assert [pod.called for pod in api.pods(name)] == [f"{corner.name}/web"]
    assert list(api.pods("absent")) == []


def test_nodes_and_budgets_are_read_as_they_are_written(corner: Corner, api: KubernetesApi) -> None:
    taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    provider = "aws:///eu-central-1a/i-0123456789abcdef0"
    name = corner.add_node(cpu="4", provider_id=provider, taints=[taint])
    (listed,) = (node for node in api.nodes() if node.metadata.name == name)
    assert listed.spec.provider_id == provider
    assert [(t.key, t.value, t.effect) for t in listed.spec.taints] == [("dedicated", "gpu", "NoSchedule")]
    assert listed.is_ready
    assert listed.status.allocatable["cpu"] == "4"
    assert node_of(api, name).metadata.uid == listed.metadata.uid
    corner.set_budget("strict", min_available=1, allows=0)
    (budget,) = (each for each in api.budgets() if each.metadata.namespace == corner.name)
    assert budget.spec.selector is not None
    assert budget.spec.selector.match_labels == {"app": "web"}
    assert budget.status.disruptions_allowed == 0


def test_a_node_that_is_not_there_is_none(api: KubernetesApi) -> None:
    assert api.node("absent") is None


def test_the_server_tells_its_version(api: KubernetesApi) -> None:
    assert api.version().startswith("v1.")
