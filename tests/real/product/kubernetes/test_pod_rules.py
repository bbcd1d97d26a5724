"""Where the real scheduler puts pods that have rules about each other, and where ours would: one by one.

A pod that the scheduler refuses must fit nowhere by our rules; the node that it chooses must be one of ours.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from holdfast.adapters.kubernetes import ClusterAccess, KubernetesApi, connect
from holdfast.cloud.kubernetes import Pod
from tests.real.corner import condition
from tests.real.presence import present
from tests.scheduling.generated import NAMESPACES, Drawn, draw
from tests.scheduling.verdicts import takers
from tools.parts.catalog.kubernetes import PART as KUBERNETES
from tools.parts.catalog.kwok import PART as KWOK
from tools.parts.cluster import Cluster, start_cluster

CLUSTERS = int(os.environ.get("HOLDFAST_CLUSTERS", "15"))
NODES = [f"node-{n}" for n in range(6)]
NOW = "?gracePeriodSeconds=0"


@pytest.fixture(scope="module")
def emptied() -> Iterator[Cluster]:
    """A cluster of our own: rules between pods look at every node there is."""
    for part in (KUBERNETES, KWOK):
        present(part)
    with start_cluster() as cluster:
        for name, labels in NAMESPACES.items():
            cluster.add_namespace(name)
            cluster.request("PATCH", f"/api/v1/namespaces/{name}", {"metadata": {"labels": labels}}).ok()
        for name in NODES:
            cluster.add_node(name)
        cluster.wait_until_ready(*NODES)
        yield cluster


def test_the_scheduler_and_our_rules_agree_on_drawn_clusters(emptied: Cluster) -> None:
    tally: Counter[str] = Counter()
    wrong: list[str] = []
    with connect(ClusterAccess(kubeconfig=str(emptied.kubeconfig)), environ={}) as api:
        for seed in range(CLUSTERS):
            drawn = draw(seed)
            with furnished(emptied, drawn):
                for body in drawn.to_place:
                    verdict = placed(emptied, api, body)
                    tally[verdict.partition(":")[0]] += 1
                    if verdict.startswith(("scheduler says no", "scheduler says yes")):
                        wrong.append(f"seed {seed}, {body['metadata']['name']}: {verdict}")
    print(dict(tally))
    assert min(tally["both place it"], tally["both refuse it"]) >= CLUSTERS, tally
    assert not [each for each in wrong if "scheduler says no" in each], wrong
    assert len(wrong) <= sum(tally.values()) / 100, wrong


def placed(cluster: Cluster, api: KubernetesApi, body: Any) -> str:
    """Let the scheduler decide about one pod more, and say what came of it beside our own answer."""
    space, name = body["metadata"]["namespace"], body["metadata"]["name"]
    where = defaultdict[str, list[Pod]](list)
    for pod in api.pods():
        where[pod.spec.node_name].append(pod)
    cluster.request("POST", f"/api/v1/namespaces/{space}/pods", body).ok()
    path = f"/api/v1/namespaces/{space}/pods/{name}"
    found = cluster.wait_for(
        path, lambda pod: condition(pod, "PodScheduled"), what="the scheduler has decided"
    )
    (seen,) = (pod for pod in api.pods() if pod.called == f"{space}/{name}")
    ours = takers(seen, api.nodes(), where)
    chosen, free = found["spec"].get("nodeName", ""), [node for node, why in ours.items() if not why]
    if not chosen:
        cluster.request("DELETE", path + NOW).ok()
        if free:
            return f"scheduler says no: {condition(found, 'PodScheduled')['message']}; ours: {free}"
        return "both refuse it"
    return "both place it" if chosen in free else f"scheduler says yes: {chosen}; ours: {ours[chosen]}"


@contextmanager
def furnished(cluster: Cluster, drawn: Drawn) -> Iterator[None]:
    """The nodes as they were drawn, and the pods that run there, all seen by the scheduler."""
    for node in drawn.nodes:
        path = f"/api/v1/nodes/{node['name']}"
        before = cluster.request("GET", path).ok()["metadata"]["labels"]
        kept = {key: None for key in before if key in ("disk", "example.com/rack") or "zone" in key}
        labels = {**kept, **node["labels"]}
        spec = {"taints": node["taints"], "unschedulable": node["unschedulable"]}
        cluster.request("PATCH", path, {"metadata": {"labels": labels}, "spec": spec}).ok()
        if node["unschedulable"]:
            cluster.wait_for(path, is_tainted_as_cordoned, what="the cordon is a taint")
    for body in drawn.running:
        space = body["metadata"]["namespace"]
        cluster.request("POST", f"/api/v1/namespaces/{space}/pods", body).ok()
    see_all(cluster)
    yield
    for space in NAMESPACES:
        cluster.request("DELETE", f"/api/v1/namespaces/{space}/pods{NOW}").ok()
        cluster.wait_for(f"/api/v1/namespaces/{space}/pods", lambda pods: not pods["items"], what="all gone")


def is_tainted_as_cordoned(node: Any) -> bool:
    return any(taint["key"] == "node.kubernetes.io/unschedulable" for taint in node["spec"].get("taints", []))


def see_all(cluster: Cluster) -> None:
    """A pod that was made after all the others and is decided about: the scheduler has seen them all."""
    body = {
        "metadata": {"name": "last"},
        "spec": {
            "containers": [{"name": "main", "image": "none"}],
            "tolerations": [{"operator": "Exists"}],
            "nodeSelector": {"kubernetes.io/hostname": NODES[0]},
        },
    }
    path = "/api/v1/namespaces/none/pods"
    cluster.request("POST", path, body).ok()
    cluster.wait_for(f"{path}/last", lambda pod: condition(pod, "PodScheduled"), what="it is decided about")
    cluster.request("DELETE", f"{path}/last{NOW}").ok()
    cluster.wait_for(f"{path}/last", lambda pod: pod.get("code") == 404, what="it is gone")
