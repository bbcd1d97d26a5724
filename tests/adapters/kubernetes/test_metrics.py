"""No data is not zero: figures that are missing, old or absurd give a problem and no load."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast.adapters.kubernetes.metrics import MetricsServer, RequestsOnly
from holdfast.autoscaler.ports import Load
from holdfast.cloud.kubernetes import KubeNode
from tests.adapters.kubernetes.kubernetes_stub import Said, Stub, saying
from tests.workloads import node, pod

NOW_S = 1_790_000_000.0
MAX_AGE_S = 180
WORKERS = [node("n-1", cpu="2"), node("n-2", cpu="4")]


def figure(name: str, cpu: str, age_s: float = 15) -> dict[str, Any]:
    """As metrics-server sends it."""
    at = datetime.fromtimestamp(NOW_S - age_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "metadata": {"name": name, "creationTimestamp": at, "labels": {"kubernetes.io/os": "linux"}},
        "timestamp": at,
        "window": "20.042s",
        "usage": {"cpu": cpu, "memory": "1503036Ki"},
    }


def measured(*figures: dict[str, Any]) -> Said:
    return Said(
        200,
        {
            "kind": "NodeMetricsList",
            "apiVersion": "metrics.k8s.io/v1beta1",
            "metadata": {},
            "items": list(figures),
        },
    )


def load(stub: Stub, nodes: list[KubeNode] = WORKERS) -> Load:
    server = MetricsServer(stub.api().client, max_age_s=MAX_AGE_S, now_s=lambda: NOW_S)
    return server.load(nodes, [], 600)


def test_load_is_what_is_used_of_what_pods_may_use() -> None:
    with saying(measured(figure("n-1", "1000000000n"), figure("n-2", "500m"), figure("master", "4"))) as stub:
        assert load(stub) == Load(0.25, source="metrics-server")
        assert stub.asked == ["GET /apis/metrics.k8s.io/v1beta1/nodes"]


def test_nothing_used_is_a_load_of_nothing() -> None:
    with saying(measured(figure("n-1", "0"), figure("n-2", "0"))) as stub:
        assert load(stub).cpu == 0.0


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (measured(figure("n-1", "1")), "no figures of 1 of 2 workers, such as n-2"),
        (measured(), "no figures of 2 of 2 workers, such as n-1"),
        (Said(200, {"items": None}), "no figures of 2 of 2"),
        (measured(figure("n-1", "1"), figure("n-2", "1", MAX_AGE_S + 1)), "n-2 was measured 181 s ago"),
        (measured(figure("n-1", "1", -500), figure("n-2", "1")), "500 s from now: the clocks disagree"),
        (
            measured({**figure("n-1", "1"), "timestamp": "noon"}, figure("n-2", "1")),
            "'noon', which is no time",
        ),
        (
            measured({**figure("n-1", "1"), "timestamp": None}, figure("n-2", "1")),
            "not what Kubernetes sends",
        ),
        (measured(figure("n-1", "NaN"), figure("n-2", "1")), "n-1 uses cpu 'NaN'"),
        (measured(figure("n-1", ""), figure("n-2", "1")), "n-1 uses cpu ''"),
        (measured(figure("n-1", "-1"), figure("n-2", "1")), "absurd"),
        (measured(figure("n-1", "1"), figure("n-2", "900")), "n-2 uses cpu '900' and has 4000m: absurd"),
        (Said(404, b"404 page not found"), "404 page not found .*that the API is installed"),
        (Said(503, {"message": "service unavailable"}), "503 service unavailable"),
        (Said(401), "401"),
        (Said(403, {"message": 'User "x" cannot list resource "nodes"'}), "grant verb `list` on `nodes`"),
        (Said(200, b"<html>"), "not what Kubernetes sends"),
    ],
)
def test_what_says_nothing_is_a_problem(said: Said, problem: str) -> None:
    with saying(said) as stub:
        found = load(stub)
    assert found.cpu is None
    assert found.source == "metrics-server"
    assert re.search(problem, found.problem)


def test_a_server_that_is_not_there_is_a_problem() -> None:
    with saying(measured()) as stub:
        pass
    assert "Kubernetes API unreachable" in load(stub).problem


@pytest.mark.parametrize("nodes", [[], [node("n-1", cpu="0")], [node("n-1", cpu="lots")]])
def test_workers_of_which_nothing_is_known_have_no_load(nodes: list[KubeNode]) -> None:
    with saying(measured(figure("n-1", "1"))) as stub:
        found = load(stub, nodes)
    assert found.cpu is None
    assert found.problem


def test_by_requests_it_is_what_pods_reserved_on_these_workers() -> None:
    pods = [
        pod("a", node="n-1", cpu="500m"),
        pod("b", node="n-2", cpu="1"),
        pod("finished", node="n-2", cpu="4", phase="Succeeded"),
        pod("elsewhere", node="master", cpu="4"),
        pod("pending", cpu="4"),
    ]
    assert RequestsOnly().load(WORKERS, pods, 600) == Load(0.25, source="requests")


def test_by_requests_what_starts_first_may_be_the_most() -> None:
    spec = {
        "initContainers": [
            {"resources": {"requests": {"cpu": "1"}}, "restartPolicy": "Always"},
            {"resources": {"requests": {"cpu": "2"}}},
        ],
        "containers": [{"resources": {"requests": {"cpu": "500m"}}}],
    }
    assert RequestsOnly().load([node("n-1", cpu="6")], [pod("a", node="n-1", spec=spec)], 0).cpu == 0.5


@pytest.mark.parametrize("nodes", [[], [node("n-1", cpu="0")], [node("n-1", cpu="lots")]])
def test_by_requests_workers_without_room_have_no_load(nodes: list[KubeNode]) -> None:
    found = RequestsOnly().load(nodes, [], 600)
    assert found.cpu is None
    assert found.problem.startswith("requests: ")
