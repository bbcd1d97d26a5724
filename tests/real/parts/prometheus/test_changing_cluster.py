"""PromQL answers while a cluster changes."""

from tests.real.kubernetes_lists import Lists
from tests.real.traces import wait_until
from tests.real.watching import CPU, PENDING, wait_for, wait_for_a_full_window
from tools.parts.catalog.prometheus import Prometheus


def test_the_load_falls_when_pods_leave(cluster: Lists, prometheus: Prometheus) -> None:
    cluster.add_pod("busy", "n1", cpu="2")
    cluster.add_node("n1", cpus=2)
    wait_for_a_full_window(prometheus)
    wait_for(prometheus, CPU, at_least=0.97)
    del cluster.pods["busy"]
    wait_for(prometheus, CPU, at_most=0.03)


def test_pending_pods_count_as_sustained_only_after_the_whole_window(
    cluster: Lists, prometheus: Prometheus
) -> None:
    cluster.add_node("n1")
    cluster.add_pod("web-1", "n1")
    sustained = f"avg_over_time(({PENDING} > bool 0)[3s:500ms])"
    wait_for(prometheus, sustained, at_most=0)
    cluster.add_pod("web-2", None, phase="Pending")
    wait_for(prometheus, PENDING, at_least=1)
    wait_for(prometheus, sustained, at_least=0.01, at_most=0.99)
    wait_for(prometheus, sustained, at_least=1)


def test_a_node_that_falls_silent_ends_its_series(cluster: Lists, prometheus: Prometheus) -> None:
    cluster.add_node("n1")
    cluster.add_node("n2")
    wait_for(prometheus, "count(count by (node) (node_cpu_seconds_total))", at_least=2)
    cluster.add_node("n2", ready="Unknown")
    wait_for(prometheus, "count(count by (node) (node_cpu_seconds_total))", at_most=1)
    wait_for(prometheus, 'kube_node_status_condition{node="n2", status="unknown"}', at_least=1)


def test_a_cluster_that_cannot_be_listed_gives_no_number_at_all(
    cluster: Lists, prometheus: Prometheus
) -> None:
    cluster.add_node("n1")
    cluster.add_pod("waiting", None, phase="Pending")
    wait_for(prometheus, PENDING, at_least=1)
    cluster.out_of_order = True
    wait_until(lambda: prometheus.value(PENDING) is None, "the series have ended")
    wait_for(prometheus, "max(up)", at_most=0)
