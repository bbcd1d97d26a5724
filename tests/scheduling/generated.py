"""Small clusters and pods with rules about each other, drawn from a seed, as the API would send them."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.scheduling.drawn_volumes import DrawnVolumes, draw_volumes, give_volumes

PREEMPTS = "PreemptLowerPriority"
ZONE, HOSTNAME, RACK = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "example.com/rack"
NAMESPACES = {"near": {"team": "a", "kind": "shop"}, "far": {"team": "b", "kind": "shop"}, "none": {}}
APPS = ("web", "db", "cache")
PRIORITIES = {"low": (-10, PREEMPTS), "high": (1_000, PREEMPTS), "polite": (1_000, "Never")}
"""By class: the value, and whether such pods preempt others."""
GPU = "example.com/gpu"
TAINT = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}


@dataclass
class Drawn:
    """Nodes, what runs on them, and what is to be placed, one after the other."""

    nodes: list[dict[str, Any]] = field(default_factory=list)
    running: list[dict[str, Any]] = field(default_factory=list)
    to_place: list[dict[str, Any]] = field(default_factory=list)
    volumes: DrawnVolumes = field(default_factory=DrawnVolumes)


def draw(seed: int, *, nodes: int = 6, pods: int = 10) -> Drawn:
    random, drawn = Random(seed), Drawn()
    for n in range(nodes):
        labels = {HOSTNAME: f"node-{n}"}
        if random.random() < 0.9:
            labels[ZONE] = random.choice("abc")
        if random.random() < 0.7:
            labels[RACK] = random.choice("12")
        if random.random() < 0.5:
            labels["disk"] = random.choice(("ssd", "hdd"))
        drawn.nodes.append(
            {
                "name": f"node-{n}",
                "labels": labels,
                "taints": [TAINT] if random.random() < 0.2 else [],
                "unschedulable": random.random() < 0.1,
            }
        )
    names = [node["name"] for node in drawn.nodes]
    for n in range(random.randrange(10)):
        body = _pod(random, f"runs-{n}")
        body["spec"]["nodeName"] = random.choice(names)
        drawn.running.append(body)
    drawn.to_place = [_pod(random, f"waits-{n}") for n in range(pods)]
    drawn.volumes, which = draw_volumes(seed, names)
    _fill(Random(f"more {seed}"), drawn)
    for body in (*drawn.running, *drawn.to_place):
        give_volumes(which, body, drawn.volumes, runs="nodeName" in body["spec"])
    return drawn


def _fill(random: Random, drawn: Drawn) -> None:
    """Priorities, devices, and on some clusters nodes that pods of low priority fill."""
    for node in drawn.nodes:
        node["devices"] = {GPU: random.choice("0012")}
    for body in (*drawn.running, *drawn.to_place):
        if random.random() < 0.3:
            body["spec"]["priorityClassName"] = random.choice(("low", "low", "high", "high", "polite"))
        if random.random() < 0.15:
            of_it = body["spec"]["containers"][0]["resources"]
            wanted = {GPU: random.choice("12")}
            of_it["requests"], of_it["limits"] = {**of_it["requests"], **wanted}, wanted
    for n in range(random.choice((0, 0, 4, 6))):
        body = _pod(random, f"fills-{n}")
        body["spec"] |= {
            "nodeName": drawn.nodes[n]["name"],
            "priorityClassName": random.choice(("low", "low", "high")),
        }
        body["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1500m"
        drawn.running.append(body)


def _pod(random: Random, name: str) -> dict[str, Any]:
    labels = {"app": random.choice(APPS)}
    if random.random() < 0.5:
        labels["version"] = random.choice("12")
    spec: dict[str, Any] = {"containers": [_container(random)]}
    if random.random() < 0.2:
        spec["nodeSelector"] = {"disk": "ssd"}
    if random.random() < 0.3:
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    affinity: dict[str, Any] = {}
    if random.random() < 0.15:
        term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": random.sample("abc", 2)}]}
        affinity["nodeAffinity"] = {REQUIRED: {"nodeSelectorTerms": [term]}}
    if random.random() < 0.25:
        affinity["podAffinity"] = {REQUIRED: _terms(random)}
    if random.random() < 0.35:
        affinity["podAntiAffinity"] = {REQUIRED: _terms(random)}
    if affinity:
        spec["affinity"] = affinity
    if random.random() < 0.4:
        keys = random.sample((ZONE, HOSTNAME, RACK), random.choice((1, 1, 2)))
        spec["topologySpreadConstraints"] = [_spread(random, key) for key in keys]
    return {
        "metadata": {"name": name, "namespace": random.choice(("near", "near", "far")), "labels": labels},
        "spec": spec,
    }


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _container(random: Random) -> dict[str, Any]:
    requests = {"cpu": random.choice(("100m", "300m", "700m")), "memory": "64Mi"}
    made: dict[str, Any] = {"name": "main", "image": "none", "resources": {"requests": requests}}
    if random.random() < 0.15:
        port: dict[str, Any] = {"containerPort": 80, "hostPort": random.choice((8080, 8081))}
        if random.random() < 0.5:
            port["hostIP"] = random.choice(("10.0.0.1", "10.0.0.2"))
        if random.random() < 0.3:
            port["protocol"] = "UDP"
        made["ports"] = [port]
    return made


def _terms(random: Random) -> list[dict[str, Any]]:
    return [_term(random) for _ in range(random.choice((1, 1, 1, 2)))]


def _term(random: Random) -> dict[str, Any]:
    term: dict[str, Any] = {"topologyKey": random.choice((ZONE, HOSTNAME, HOSTNAME, RACK))}
    term["labelSelector"] = _selector(random)
    match random.randrange(6):
        case 0:
            term["namespaces"] = ["far"]
        case 1:
            term["namespaceSelector"] = {}
        case 2:
            term["namespaceSelector"] = {"matchLabels": {"team": random.choice("ab")}}
    if random.random() < 0.15:
        term["matchLabelKeys"] = ["version"]
    elif random.random() < 0.1:
        term["mismatchLabelKeys"] = ["version"]
    return term


def _selector(random: Random) -> dict[str, Any]:
    match random.randrange(5):
        case 0:
            return {"matchExpressions": [{"key": "app", "operator": "In", "values": random.sample(APPS, 2)}]}
        case 1:
            return {
                "matchExpressions": [{"key": "app", "operator": "NotIn", "values": [random.choice(APPS)]}]
            }
    return {"matchLabels": {"app": random.choice(APPS)}}


def _spread(random: Random, key: str) -> dict[str, Any]:
    made: dict[str, Any] = {
        "topologyKey": key,
        "maxSkew": random.choice((1, 1, 2)),
        "whenUnsatisfiable": "DoNotSchedule" if random.random() < 0.85 else "ScheduleAnyway",
        "labelSelector": _selector(random),
    }
    hard = made["whenUnsatisfiable"] == "DoNotSchedule"
    if hard and random.random() < 0.4:
        made["minDomains"] = random.choice((2, 4, 5))
    if random.random() < 0.25:
        made["nodeAffinityPolicy"] = random.choice(("Honor", "Ignore"))
    if random.random() < 0.25:
        made["nodeTaintsPolicy"] = random.choice(("Honor", "Ignore"))
    if random.random() < 0.2:
        made["matchLabelKeys"] = ["version"]
    return made
