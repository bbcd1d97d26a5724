"""A bad day on the real control plane: a claim that cannot be bound, a budget of zero, hung kubelets."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from holdfast.autoscaler.scale_down.drain import Rule
from tests.real.presence import present
from tests.real.product.command_line.shell import Shell
from tests.real.product.command_line.test_bad_days import asked_to_end
from tests.real.traces import wait_until
from tools.parts.catalog.kubectl import PART as KUBECTL
from tools.parts.cluster import Cluster
from tools.parts.kubernetes.node import is_ready
from tools.parts.play import chaos
from tools.parts.site import Site

SPACE = "sick"
PODS, CLAIMS = f"/api/v1/namespaces/{SPACE}/pods", f"/api/v1/namespaces/{SPACE}/persistentvolumeclaims"
SETS = f"/apis/apps/v1/namespaces/{SPACE}/replicasets"
BUDGETS = f"/apis/policy/v1/namespaces/{SPACE}/poddisruptionbudgets"
QUICK = {
    "MIN_WORKERS": "3", "PENDING_UP_SEC": "1", "IDLE_DOWN_SEC": "2", "COOLDOWN_UP_SEC": "1",
    "COOLDOWN_DOWN_SEC": "1", "NOT_READY_SEC": "2", "AFTER_CORDON_SEC": "1", "KEEP_LAST_OF_ZONE": "false",
    "CPU_UP": "0.9",
}  # fmt: skip


BAD_DAY = (
    ("list", "  spot "),
    ("notice", " has its spot notice: EC2 takes it back in 120 s"),
    ("rebalance", " has a rebalance recommendation"),
    ("hang", " hangs; its node becomes NotReady"),
    ("revive", " reports again"),
    ("revive", "there is no machine whose kubelet hangs"),
    ("kill", " is dead, without a warning"),
    ("kill i-none", "there is no machine i-none: `chaos list` shows"),
    ("notice --in -5", "-5 lies outside 0 to 3600"),
    ("empty spot --type m5.large", "no capacity is left: spot m5.large"),
    ("refill", "all capacity is back"),
    ("crash scale-up", "`holdfast autoscaler run` does not run in this folder"),
    ("log", '"kind": "rebalance"'),
)
"""What can befall the fleet of a playground by `chaos`, and what is said of it."""


def test_what_cannot_be_helped_stops_nothing_and_what_is_sick_is_replaced(
    shell: Shell, site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = site.cluster
    with shell.looping(1, **QUICK), crowded(cluster):
        wait_until(lambda: len(ready(cluster)) == 3, "three workers serve")
        a_claim_that_cannot_be_bound_is_told_in_the_schedulers_words(shell, cluster)
        busy_workers_get_another_beside_it(shell, cluster)
        a_budget_of_zero_keeps_every_idle_worker(shell, site)
        without_it_one_leaves_though_the_claim_still_waits(shell, site)
        hung_kubelets_are_replaced_within_the_brake(shell, site)

    present(KUBECTL)
    in_the_playgrounds_shell(shell, monkeypatch)
    for words, says in BAD_DAY:
        monkeypatch.setattr(sys, "argv", ["chaos", *words.split()])
        with suppress(SystemExit):
            chaos.main()
        assert says in "".join(capsys.readouterr()), words


def in_the_playgrounds_shell(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shell.settings.parent
    monkeypatch.chdir(folder)
    for name, value in shell.surroundings(PATH=f"{folder / 'bin'}:{os.environ['PATH']}").items():
        monkeypatch.setenv(name, value)


def a_claim_that_cannot_be_bound_is_told_in_the_schedulers_words(shell: Shell, cluster: Cluster) -> None:
    with_claim(cluster, "fine", "standard")
    with_claim(cluster, "stuck", "no-such-class")
    cluster.wait_for(f"{CLAIMS}/fine", lambda claim: claim["status"]["phase"] == "Bound", what="one is bound")
    cluster.request("DELETE", f"{PODS}/fine").ok()
    cluster.wait_for(f"{PODS}/stuck", scheduler_says, what="the scheduler has refused the other's pod")
    (told,) = (each for each in shell.json("explain", **QUICK)["pods"] if each["example"] == f"{SPACE}/stuck")
    assert "persistentvolumeclaim" in told["scheduler"].lower()
    printed = shell.run("status", **QUICK).stdout
    assert "1 pod pending, 0 of them a new worker would take" in " ".join(printed.split())


def with_claim(cluster: Cluster, name: str, storage_class: str) -> None:
    """A pod, and the claim that it has."""
    claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class}
    room = {"resources": {"requests": {"storage": "1Gi"}}}
    cluster.request("POST", CLAIMS, {"metadata": {"name": name}, "spec": {**claim, **room}}).ok()
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": name}}
    spec = {"containers": [{"name": "main", "image": "none"}], "volumes": [volume]}
    cluster.request("POST", PODS, {"metadata": {"name": name}, "spec": spec}).ok()


def scheduler_says(pod: dict[str, Any]) -> str:
    conditions = pod["status"].get("conditions", [])
    return next((each["message"] for each in conditions if each.get("reason") == "Unschedulable"), "")


def busy_workers_get_another_beside_it(shell: Shell, cluster: Cluster) -> None:
    workers = ready(cluster)
    for node in workers:
        one_pod(cluster, f"busy-{node}", node, cpu="1900m")
    wait_until(lambda: len(ready(cluster)) == 4, "a fourth worker serves")
    (begun,) = (row for row in shell.events() if row.kind == "beginScaleUp" and "busy" in row.reason)
    assert begun.at_s, "the claim's pod waited all the time"
    for node in workers:
        cluster.request("DELETE", f"{SETS}/busy-{node}?propagationPolicy=Background").ok()


def a_budget_of_zero_keeps_every_idle_worker(shell: Shell, site: Site) -> None:
    cluster = site.cluster
    before, workers = asked_to_end(site), ready(cluster)
    budget = {"selector": {"matchLabels": {"guarded": "yes"}}, "maxUnavailable": 0}
    cluster.request("POST", BUDGETS, {"metadata": {"name": "never"}, "spec": budget}).ok()
    for node in workers:
        one_pod(cluster, f"guarded-{node}", node, guarded="yes")
    cluster.wait_for(
        f"{BUDGETS}/never",
        lambda found: found.get("status", {}).get("currentHealthy") == 4,
        what="the budget has counted its pods",
    )
    wait_until(lambda: "no worker may leave now" in shell.record().hold_reason, "the idle workers are kept")
    told = shell.json("explain", **QUICK)["nodes"]
    kept = {node["node"]: [each for each in node["blockers"] if each["rule"] == Rule.BUDGET] for node in told}
    assert set(kept) == workers
    assert all("forbids every one, however many replicas run" in each[0]["remedy"] for each in kept.values())
    assert ready(cluster) == workers
    assert asked_to_end(site) == before
    assert not [node for node in nodes(cluster) if node["spec"].get("unschedulable")], "none was cordoned"


def without_it_one_leaves_though_the_claim_still_waits(shell: Shell, site: Site) -> None:
    before = asked_to_end(site)
    # Their pods name a node: they would come again on one that is being drained.
    for found in site.cluster.request("GET", SETS).ok()["items"]:
        site.cluster.request(
            "DELETE", f"{SETS}/{found['metadata']['name']}?propagationPolicy=Background"
        ).ok()
    wait_until(lambda: len(asked_to_end(site)) > len(before), "one of the idle workers has left")
    pod = site.cluster.request("GET", f"{PODS}/stuck").ok()
    assert scheduler_says(pod), "and the pod with the claim still waits"


def hung_kubelets_are_replaced_within_the_brake(shell: Shell, site: Site) -> None:
    cluster = site.cluster
    wait_until(lambda: "the fleet has its minimum size" in shell.record().hold_reason, "the fleet is at rest")
    before = asked_to_end(site)
    hung, slow, _ = sorted(ready(cluster) - set(before))
    for node in (hung, slow):
        cluster.silence_node(node)
    wait_until(lambda: {hung, slow} <= told_of(shell, "notReadyTooLong"), "both are not ready for too long")
    found = shell.json("status", **QUICK)
    assert any("nodes are not ready at once" in trouble for trouble in found["troubles"])
    assert asked_to_end(site) == before, "many at once: they may be replaced, and none is ended"

    cluster.wake_node(slow)
    wait_until(lambda: len(asked_to_end(site)) > len(before), "one is ended")
    assert asked_to_end(site)[len(before)] == hung, "the one that still hangs"
    assert len(ready(cluster) - set(asked_to_end(site))) >= 3, "and it was replaced before"


def told_of(shell: Shell, kind: str) -> set[str]:
    return {row.about for row in shell.events() if row.kind == kind}


def nodes(cluster: Cluster) -> list[Any]:
    """A list does not name the kind of its items."""
    return [{"kind": "Node", **node} for node in cluster.request("GET", "/api/v1/nodes").ok()["items"]]


def ready(cluster: Cluster) -> set[str]:
    """The nodes that take pods."""
    closed = ("holdfast.dev/joining",)
    return {
        node["metadata"]["name"]
        for node in nodes(cluster)
        if is_ready(node) and not any(each["key"] in closed for each in node["spec"].get("taints", []))
    }


def one_pod(cluster: Cluster, name: str, node: str, *, cpu: str = "10m", **labels: str) -> None:
    """On that node, of a controller that would start it again."""
    marks = {"app": name, **labels}
    main = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": marks}, "spec": {"nodeName": node, "containers": [main]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
    cluster.request("POST", SETS, {"metadata": {"name": name}, "spec": spec}).ok()


@contextmanager
def crowded(cluster: Cluster) -> Iterator[None]:
    """A namespace for all that keeps pods and workers from their way; gone again afterwards."""
    cluster.add_namespace(SPACE)
    try:
        yield
    finally:
        cluster.request("DELETE", f"/api/v1/namespaces/{SPACE}")
