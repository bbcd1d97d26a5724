"""The exporter against a real Kubernetes API: pods that the scheduler placed, on nodes that KWOK runs."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.real.presence import present
from tests.real.traces import wait_until
from tests.real.watching import CPU_BY_NODE, PENDING, wait_for, watching
from tools.parts.catalog.kubernetes import PART as KUBERNETES
from tools.parts.catalog.kwok import PART as KWOK
from tools.parts.catalog.prometheus import Prometheus
from tools.parts.cluster import Cluster, start_cluster
from tools.parts.exporter.start import start_exporter

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def kwok_cluster() -> Iterator[Cluster]:
    for part in (KUBERNETES, KWOK):
        present(part)
    with start_cluster() as started:
        yield started


@pytest.fixture(scope="module")
def prometheus(kwok_cluster: Cluster) -> Iterator[Prometheus]:
    exporter = start_exporter(
        kwok_cluster.server, ca_file=kwok_cluster.ca_file, token=kwok_cluster.admin_token
    )
    try:
        with watching(exporter) as started:
            yield started
    finally:
        exporter.stop()


def pod(name: str, *, cpu: str, annotations: dict[str, str] | None = None) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": name, "annotations": annotations or {}}, "spec": {"containers": [container]}}


def test_a_node_is_as_busy_as_the_pods_that_were_scheduled_to_it(
    kwok_cluster: Cluster, prometheus: Prometheus
) -> None:
    kwok_cluster.add_node("worker-1", cpu="4", memory="8Gi", provider_id="aws:///us-east-1a/i-1")
    kwok_cluster.wait_until_ready("worker-1")
    kwok_cluster.request("POST", PODS, pod("half", cpu="2")).ok()
    busy = f'{CPU_BY_NODE} and on (node) kube_node_info{{node="worker-1"}}'
    wait_for(prometheus, busy, at_least=0.47, at_most=0.53)

    told = {"holdfast.test/cpu-usage": "1"}
    kwok_cluster.request("PATCH", f"{PODS}/half", {"metadata": {"annotations": told}}).ok()
    wait_for(prometheus, busy, at_least=0.22, at_most=0.28)

    [info] = prometheus.query('kube_node_info{node="worker-1"}')
    assert info["metric"]["provider_id"] == "aws:///us-east-1a/i-1"
    assert (
        prometheus.value('kube_node_status_condition{node="worker-1", condition="Ready", status="true"}') == 1
    )


def test_a_pod_that_fits_nowhere_is_pending_and_unschedulable(
    kwok_cluster: Cluster, prometheus: Prometheus
) -> None:
    kwok_cluster.request("POST", PODS, pod("giant", cpu="400")).ok()
    wait_for(prometheus, PENDING, at_least=1)
    wait_for(prometheus, 'kube_pod_status_unschedulable{pod="giant"}', at_least=1)
    kwok_cluster.request("DELETE", f"{PODS}/giant").ok()
    wait_until(lambda: not prometheus.query('kube_pod_info{pod="giant"}'), "the pod is gone")


def test_a_cordon_is_seen(kwok_cluster: Cluster, prometheus: Prometheus) -> None:
    kwok_cluster.add_node("worker-2")
    wait_for(prometheus, 'kube_node_spec_unschedulable{node="worker-2"}', at_most=0)
    kwok_cluster.request("PATCH", "/api/v1/nodes/worker-2", {"spec": {"unschedulable": True}}).ok()
    wait_for(prometheus, 'kube_node_spec_unschedulable{node="worker-2"}', at_least=1)
