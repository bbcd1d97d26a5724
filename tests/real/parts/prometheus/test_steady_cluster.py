"""PromQL answers about a cluster in which nothing changes, from samples that were scraped off it."""

from collections.abc import Iterator

import pytest

from tests.real.kubernetes_lists import TOKEN, serving
from tests.real.watching import (
    CPU,
    PENDING,
    WINDOW_S,
    wait_for,
    wait_for_a_full_window,
    watching,
)
from tools.parts.catalog.prometheus import Prometheus
from tools.parts.exporter.start import start_exporter

TOLERANCE = 0.05
LOAD = {"busy": 0.75, "annotated": 0.75, "overcommitted": 1.0, "waiting": 0.0}


@pytest.fixture(scope="module")
def prometheus() -> Iterator[Prometheus]:
    with serving() as cluster:
        cluster.add_pod("web-1", "busy", cpu="3")
        cluster.add_pod("web-2", "annotated", cpu="1", usage="3")
        cluster.add_pod("web-3", "overcommitted", cpu="1", usage="9")
        cluster.add_pod("web-4", "waiting", cpu="3", phase="Pending")
        for name in LOAD:
            cluster.add_node(name, cpus=4)
        exporter = start_exporter(cluster.server, token=TOKEN)
        try:
            with watching(exporter) as started:
                wait_for_a_full_window(started)
                yield started
        finally:
            exporter.stop()


def _seconds(which: str) -> str:
    return f"sum by (node) (rate(node_cpu_seconds_total{{{which}}}[{WINDOW_S}s]))"


def test_the_load_of_the_fleet_is_what_the_exporter_was_told(prometheus: Prometheus) -> None:
    told = sum(LOAD.values()) / len(LOAD)
    wait_for(prometheus, CPU, at_least=told - TOLERANCE, at_most=told + TOLERANCE)


def test_the_load_of_each_node_is_what_its_running_pods_use(prometheus: Prometheus) -> None:
    """As a share of all modes, which does not depend on when exactly the samples were taken."""
    idle, all_modes = _seconds('mode="idle"'), _seconds("")
    found = {
        series["metric"]["node"]: float(series["value"][1])
        for series in prometheus.query(f"1 - {idle} / {all_modes}")
    }
    assert found == pytest.approx(LOAD, abs=1e-3)


def test_the_mean_of_the_busy_modes_is_a_seventh_of_the_load(prometheus: Prometheus) -> None:
    """There are seven of them.  A query that averages instead of adding up never sees a busy fleet."""
    mean = f'avg(rate(node_cpu_seconds_total{{mode!="idle", node="overcommitted"}}[{WINDOW_S}s]))'
    wait_for(prometheus, mean, at_least=1 / 7 - TOLERANCE, at_most=1 / 7 + TOLERANCE)


def test_a_pod_that_is_bound_but_does_not_run_is_pending(prometheus: Prometheus) -> None:
    assert prometheus.value(PENDING) == 1
    on_node = 'sum(kube_pod_container_resource_requests{resource="cpu", node="waiting"})'
    assert prometheus.value(on_node) == 3


def test_requests_and_allocatable_meet_in_one_query(prometheus: Prometheus) -> None:
    asked = 'sum by (node) (kube_pod_container_resource_requests{resource="cpu"})'
    have = 'sum by (node) (kube_node_status_allocatable{resource="cpu"})'
    found = {s["metric"]["node"]: float(s["value"][1]) for s in prometheus.query(f"{asked} / {have}")}
    assert found == {"busy": 0.75, "annotated": 0.25, "overcommitted": 0.25, "waiting": 0.75}


def test_the_labels_of_the_nodes_survive_the_scrape(prometheus: Prometheus) -> None:
    [series] = prometheus.query('node_cpu_seconds_total{mode="idle", cpu="0", node="busy"}')
    assert series["metric"]["instance"] == "10.0.0.1:9100"
    assert series["metric"]["job"] == "node-exporter"
