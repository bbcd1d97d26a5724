"""Twelve things that keep a node, each made on a real cluster and found by `explain`."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.record import Skip
from holdfast.autoscaler.scale_down.drain import Rule
from holdfast.cloud.kubernetes import DO_NOT_EVICT
from holdfast.kernel import Event, Write
from tests.real.product.command_line.shell import Shell
from tools.parts.cluster import Cluster
from tools.parts.site import Site

SPACE = "blockers"
FIVE = {"MIN_WORKERS": "5"}


def test_the_twelve_blockers_are_told_with_node_rule_pod_and_what_lifts_them(
    shell: Shell, site: Site
) -> None:
    by_zone = zones(shell.loop_until_serving(5, **FIVE))
    alone = next(nodes[0] for nodes in by_zone.values() if len(nodes) == 1)
    first, second, third, failed = (node for nodes in by_zone.values() if len(nodes) == 2 for node in nodes)
    skip(shell, failed)

    with made(site.cluster, blocking(first, second, third, alone)):
        told = shell.json("explain", **FIVE)
        printed = shell.run("explain", **FIVE)

    rules = {
        node["node"]: {(b["rule"], app_of(b["pod"])) for b in node["blockers"]} for node in told["nodes"]
    }
    assert {
        (Rule.NODE_CRITICAL, "node-critical"),
        (Rule.CLUSTER_CRITICAL, "cluster-critical"),
        (Rule.KUBE_SYSTEM, "dns"),
    } <= rules[first]
    assert {(Rule.BUDGET, "tight"), (Rule.TWO_BUDGETS, "twice"), (Rule.UNMANAGED, "naked")} <= rules[second]
    assert {(Rule.LOCAL_STORAGE, "scratch"), (Rule.DO_NOT_EVICT, "pinned")} <= rules[third]
    assert {(Rule.LAST_OF_ZONE, ""), (Rule.NOWHERE_ELSE, "big")} <= rules[alone]
    assert (Rule.JUST_FAILED, "") in rules[failed]
    assert all((Rule.FLOOR, "") in of_node for of_node in rules.values())
    assert all(b["reason"] and b["remedy"] for node in told["nodes"] for b in node["blockers"])
    assert printed.returncode == 0, printed.stderr
    assert all(rule in printed.stdout for of_node in rules.values() for rule, _ in of_node)
    assert max(map(len, printed.stdout.splitlines())) <= 100


def app_of(pod: str) -> str:
    """`shop/web-7d4f` is of `web`."""
    return pod.rpartition("/")[2].rpartition("-")[0]


def zones(status: dict[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for worker in status["workers"]:
        found.setdefault(worker["zone"], []).append(worker["node"])
    return found


def skip(shell: Shell, node: str) -> None:
    """As a drain leaves it that ran out of time."""
    now_s = time.time()
    with shell.stores() as stores:
        found = stores.store.read(SUBJECT)
        kept_too_long = Skip(node, "out of time: shop/web has not left", int(now_s) + 900)
        tried = replace(found.value, skipped=(kept_too_long,))
        stores.store.commit(
            SUBJECT, found, Write(tried, (Event("drainSkipped", now_s, about=node),)), "a-failed-drain"
        )


def blocking(first: str, second: str, third: str, alone: str) -> list[tuple[str, dict[str, Any]]]:
    """What to create, and where."""
    return [
        replicas("node-critical", first, priorityClassName="system-node-critical"),
        replicas("cluster-critical", first, priorityClassName="system-cluster-critical"),
        replicas("dns", first, space="kube-system"),
        replicas("tight", second),
        budget("tight", "tight", minAvailable=1),
        replicas("twice", second),
        budget("twice-1", "twice", maxUnavailable=1),
        budget("twice-2", "twice", maxUnavailable=1),
        (f"/api/v1/namespaces/{SPACE}/pods", {"metadata": {"name": "naked-1"}, "spec": spec(second)}),
        replicas("scratch", third, volumes=[{"name": "tmp", "emptyDir": {}}]),
        replicas("pinned", third, annotations={DO_NOT_EVICT: "true"}),
        replicas("big", alone, nodeSelector={"kubernetes.io/hostname": alone}),
    ]


def replicas(
    name: str, node: str, *, space: str = SPACE, annotations: dict[str, str] | None = None, **more: Any
) -> tuple[str, dict[str, Any]]:
    """One pod, with a controller that would start it again."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels, "annotations": annotations or {}}, "spec": spec(node, **more)}
    return f"/apis/apps/v1/namespaces/{space}/replicasets", {
        "metadata": {"name": name},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }


def spec(node: str, **more: Any) -> dict[str, Any]:
    return {"nodeName": node, "containers": [{"name": "main", "image": "none"}], **more}


def budget(name: str, app: str, **rule: int) -> tuple[str, dict[str, Any]]:
    return f"/apis/policy/v1/namespaces/{SPACE}/poddisruptionbudgets", {
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": app}}, **rule},
    }


@contextmanager
def made(cluster: Cluster, documents: list[tuple[str, dict[str, Any]]]) -> Iterator[None]:
    """All of it there, running and considered by the controllers; gone again afterwards."""
    cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}}).ok()
    try:
        for path, document in documents:
            cluster.request("POST", path, document).ok()
        for space, count in ((SPACE, 8), ("kube-system", 1)):
            cluster.wait_for(
                f"/api/v1/namespaces/{space}/pods",
                partial(so_many_run, count),
                what=f"{count} pods run in {space}",
            )
        cluster.wait_for(
            f"/apis/policy/v1/namespaces/{SPACE}/poddisruptionbudgets",
            lambda found: all(each["status"].get("currentHealthy") == 1 for each in found["items"]),
            what="every budget has counted its pod",
        )
        yield
    finally:
        for path, document in documents:
            cluster.request("DELETE", f"{path}/{document['metadata']['name']}")
        cluster.request("DELETE", f"/api/v1/namespaces/{SPACE}")


def so_many_run(count: int, pods: Any) -> bool:
    return len([pod for pod in pods["items"] if pod["status"].get("phase") == "Running"]) >= count
