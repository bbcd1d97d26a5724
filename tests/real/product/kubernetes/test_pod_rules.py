"""Where the real scheduler puts pods with rules, volumes and priorities, and where ours would: one by one.

A pod that the scheduler refuses must fit nowhere by our rules; the node that it chooses must be one of ours.
One for which it makes room by preemption must be one that we expect to preempt there.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from holdfast.adapters.kubernetes import ClusterAccess, KubernetesApi, connect
from holdfast.cloud.kubernetes import Pod
from tests.real.corner import condition
from tests.real.presence import present
from tests.real.product.kubernetes.volumes import furnish_volumes, made_on_demand, remove_volumes
from tests.scheduling.drawn_volumes import CLASSES
from tests.scheduling.generated import NAMESPACES, PRIORITIES, Drawn, draw
from tests.scheduling.verdicts import Verdict, judge
from tools.parts.catalog.kubernetes import PART as KUBERNETES
from tools.parts.catalog.kwok import PART as KWOK
from tools.parts.cluster import Cluster, start_cluster

CLUSTERS = int(os.environ.get("HOLDFAST_CLUSTERS", "8"))
FIRST = int(os.environ.get("HOLDFAST_CLUSTERS_FIRST", "0"))
FOUND_BEFORE: tuple[int, ...] = ()
"""Clusters on which both disagreed once."""
NODES = [f"node-{n}" for n in range(6)]
NOW = "?gracePeriodSeconds=0"
NOT_YET = "waiting for ephemeral volume controller"


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
        for body in CLASSES:
            cluster.request("POST", "/apis/storage.k8s.io/v1/storageclasses", body).ok()
        for name, (value, policy) in PRIORITIES.items():
            body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy}
            cluster.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body).ok()
        cluster.wait_until_ready(*NODES)
        yield cluster


def test_the_scheduler_and_our_rules_agree_on_drawn_clusters(emptied: Cluster) -> None:
    tally: Counter[str] = Counter()
    wrong: list[str] = []
    with connect(ClusterAccess(kubeconfig=str(emptied.kubeconfig)), environ={}) as api:
        for seed in dict.fromkeys((*FOUND_BEFORE, *range(FIRST, FIRST + CLUSTERS))):
            drawn = draw(seed)
            with furnished(emptied, drawn):
                for body in drawn.to_place:
                    verdict = placed(emptied, api, body)
                    tally[verdict.partition(":")[0]] += 1
                    if verdict.startswith(("scheduler says no", "scheduler says yes")):
                        wrong.append(f"seed {seed}, {body['metadata']['name']}: {verdict}")
                        print(wrong[-1], flush=True)
            print(f"cluster {seed}: {dict(tally)}", flush=True)
    print(dict(tally))
    assert min(tally["both place it"], tally["both refuse it"]) >= CLUSTERS, tally
    assert not [each for each in wrong if "scheduler says no" in each], wrong
    assert len(wrong) <= sum(tally.values()) / 100, wrong


def placed(cluster: Cluster, api: KubernetesApi, body: Any) -> str:
    """Let the scheduler decide about one pod more.  Its informers may lag behind the API: a disagreement is
    tried again before it counts."""
    verdict = ""
    for _ in range(2):
        verdict = once(cluster, api, body)
        if verdict.startswith("both"):
            break
        delete(cluster, body)
        see_all(cluster)
    return verdict


def once(cluster: Cluster, api: KubernetesApi, body: Any) -> str:
    """What came of it, beside our own answer."""
    space, name = body["metadata"]["namespace"], body["metadata"]["name"]
    where, volumes = defaultdict[str, list[Pod]](list), api.volumes()
    for pod in api.pods():
        where[pod.spec.node_name].append(pod)
    asked = cluster.request("POST", f"/api/v1/namespaces/{space}/pods", body).ok()
    ours = judge(msgspec.convert(asked, Pod), api.nodes(), where, volumes)
    path = f"/api/v1/namespaces/{space}/pods/{name}"

    def decided(pod: Any) -> bool:
        made_on_demand(cluster, space, pod)
        found = condition(pod, "PodScheduled")
        return bool(found) and NOT_YET not in found.get("message", "")

    found = cluster.wait_for(path, decided, what="the scheduler has decided")
    chosen, nominated = found["spec"].get("nodeName", ""), found["status"].get("nominatedNodeName", "")
    if chosen:
        return judged_place(chosen, ours)
    says = condition(found, "PodScheduled")["message"]
    delete(cluster, body)
    if nominated:
        cluster.wait_for("/api/v1/pods", none_is_leaving, what="what made room is gone")
        return judged_preemption(nominated, ours)
    if ours.free or ours.preempts:
        return f"scheduler says no: {says}; ours: {ours.free}, by preemption {ours.preempts}"
    return "both refuse it"


def judged_place(chosen: str, ours: Verdict) -> str:
    return (
        "both place it" if chosen in ours.free else f"scheduler says yes: {chosen}; ours: {ours.why[chosen]}"
    )


def judged_preemption(nominated: str, ours: Verdict) -> str:
    if ours.free:
        return f"scheduler says no: it preempts on {nominated}; ours: {ours.free}"
    if nominated in ours.preempts:
        return "both preempt for it"
    return f"scheduler says yes: it preempts on {nominated}; ours: {ours.why[nominated]}"


def none_is_leaving(pods: Any) -> bool:
    return not any(each["metadata"].get("deletionTimestamp") for each in pods["items"])


def delete(cluster: Cluster, body: Any) -> None:
    path = f"/api/v1/namespaces/{body['metadata']['namespace']}/pods/{body['metadata']['name']}"
    cluster.request("DELETE", path + NOW)
    cluster.wait_for(path, lambda pod: pod.get("code") == 404, what="it is gone")


@contextmanager
def furnished(cluster: Cluster, drawn: Drawn) -> Iterator[None]:
    """The nodes as they were drawn, the volumes, and the pods that run there, all seen by the scheduler."""
    for node in drawn.nodes:
        path = f"/api/v1/nodes/{node['name']}"
        before = cluster.request("GET", path).ok()["metadata"]["labels"]
        kept = {key: None for key in before if key in ("disk", "example.com/rack") or "zone" in key}
        labels = {**kept, **node["labels"]}
        spec = {"taints": node["taints"], "unschedulable": node["unschedulable"]}
        cluster.request("PATCH", path, {"metadata": {"labels": labels}, "spec": spec}).ok()
        devices = {"capacity": node["devices"], "allocatable": node["devices"]}
        cluster.request("PATCH", f"{path}/status", {"status": devices}).ok()
        if node["unschedulable"]:
            cluster.wait_for(path, is_tainted_as_cordoned, what="the cordon is a taint")
    furnish_volumes(cluster, drawn.volumes)
    for body in drawn.running:
        space = body["metadata"]["namespace"]
        cluster.request("POST", f"/api/v1/namespaces/{space}/pods", body).ok()
    see_all(cluster)
    yield
    for space in NAMESPACES:
        cluster.request("DELETE", f"/api/v1/namespaces/{space}/pods{NOW}").ok()
        cluster.wait_for(f"/api/v1/namespaces/{space}/pods", lambda pods: not pods["items"], what="all gone")
    remove_volumes(cluster)


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
