"""The exporter alone: what it says of a cluster, without Prometheus."""

import urllib.error
import urllib.request

import pytest

from tests.real.kubernetes_lists import Lists
from tests.real.traces import HANG_S
from tools.parts.exporter.cpu import CpuCounters, Load, Spent
from tools.parts.exporter.quantity import amount
from tools.parts.exporter.start import StartedExporter, start_exporter
from tools.parts.exporter.text import Sample, rendered


def scraped(exporter: StartedExporter, path: str) -> list[str]:
    with urllib.request.urlopen(f"http://{exporter.address}{path}", timeout=HANG_S) as answer:
        return [line for line in answer.read().decode().splitlines() if not line.startswith("#")]


def one(lines: list[str], *parts: str) -> float:
    """The value of the one line with all of these in it."""
    [line] = [line for line in lines if all(part in line for part in parts)]
    return float(line.rpartition(" ")[2])


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("2", 2),
        ("250m", 0.25),
        ("1.5", 1.5),
        ("64Mi", 64 * 1024**2),
        ("3k", 3000),
        ("1e3", 1000),
        ("2E", 2e18),
    ],
)
def test_amounts_are_read_as_kubernetes_writes_them(written: str, plain: float) -> None:
    assert amount(written) == pytest.approx(plain)


@pytest.mark.parametrize("nonsense", ["", "m", "5ki", "1 core"])
def test_what_is_no_amount_is_refused(nonsense: str) -> None:
    with pytest.raises(ValueError, match="not an amount"):
        amount(nonsense)


def test_label_values_are_escaped() -> None:
    assert rendered([Sample("m", {"a": 'q"b\\n\nx'}, 1)]) == '# TYPE m gauge\nm{a="q\\"b\\\\n\\nx"} 1\n'


def test_counters_rise_with_the_load_that_was_seen_before() -> None:
    counters = CpuCounters()
    assert counters.advance({"a": Load(4, 1)}, 100)["a"] == Spent(0, 0)
    assert counters.advance({"a": Load(4, 8)}, 110)["a"] == Spent(2.5, 7.5)
    assert counters.advance({"a": Load(4, 0)}, 120)["a"] == Spent(12.5, 7.5), "no busier than it has CPUs"
    assert counters.advance({"a": Load(4, 0)}, 130)["a"] == Spent(12.5, 17.5)


def test_counters_of_a_node_that_comes_back_start_anew() -> None:
    counters = CpuCounters()
    counters.advance({"a": Load(1, 1)}, 0)
    counters.advance({}, 10)
    assert counters.advance({"a": Load(1, 1)}, 20)["a"] == Spent(0, 0)


def test_every_cpu_of_every_node_is_told_in_all_modes(cluster: Lists, exporter: StartedExporter) -> None:
    cluster.add_node("n1", cpus=2)
    cluster.add_node("n2", cpus=3)
    lines = scraped(exporter, "/node")
    assert len(lines) == (2 + 3) * 8
    assert one(lines, 'cpu="1"', 'mode="idle"', 'node="n1"', 'instance="10.0.0.1:9100"') == 0


def test_a_node_that_fell_silent_has_no_cpu_and_a_state_of_unknown(
    cluster: Lists, exporter: StartedExporter
) -> None:
    cluster.add_node("n1", ready="Unknown")
    assert scraped(exporter, "/node") == []
    lines = scraped(exporter, "/kube")
    assert one(lines, "kube_node_status_condition", 'condition="Ready"', 'status="unknown"') == 1
    assert one(lines, "kube_node_status_condition", 'condition="Ready"', 'status="true"') == 0


def test_nodes_and_pods_are_told_as_kube_state_metrics_tells_them(
    cluster: Lists, exporter: StartedExporter
) -> None:
    cluster.add_node("n1")
    cluster.nodes["n1"]["spec"]["unschedulable"] = True
    cluster.add_pod("bound", "n1", cpu="250m")
    cluster.add_pod("waiting", None, phase="Pending")
    lines = scraped(exporter, "/kube")
    assert one(lines, "kube_node_info", 'node="n1"', 'internal_ip="10.0.0.1"', "aws:///us-east-1a/n1") == 1
    assert one(lines, "kube_node_spec_unschedulable", 'node="n1"') == 1
    assert one(lines, "kube_node_status_allocatable", 'resource="memory"', 'unit="byte"') == 7 * 1024**3
    assert one(lines, "kube_pod_info", 'pod="bound"', 'node="n1"', 'created_by_kind="ReplicaSet"') == 1
    assert one(lines, "kube_pod_status_phase", 'pod="waiting"', 'phase="Pending"') == 1
    assert one(lines, "kube_pod_status_phase", 'pod="bound"', 'phase="Pending"') == 0
    requests = "kube_pod_container_resource_requests"
    assert one(lines, requests, 'pod="bound"', 'resource="cpu"', 'unit="core"', 'node="n1"') == 0.25
    assert one(lines, requests, 'pod="waiting"', 'resource="cpu"', 'node=""') == 1


def test_a_cluster_that_cannot_be_listed_fails_the_scrape(cluster: Lists, exporter: StartedExporter) -> None:
    cluster.out_of_order = True
    with pytest.raises(urllib.error.HTTPError, match="503"):
        scraped(exporter, "/kube")


def test_the_token_is_sent(cluster: Lists) -> None:
    stranger = start_exporter(cluster.server, token="wrong")
    try:
        with pytest.raises(urllib.error.HTTPError) as refused:
            scraped(stranger, "/node")
        assert "401" in refused.value.read().decode()
        refused.value.close()
    finally:
        stranger.stop()
