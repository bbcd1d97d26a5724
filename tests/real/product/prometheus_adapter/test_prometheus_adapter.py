"""How busy the workers are, asked of a real Prometheus; and what is told when that is not known."""

from collections.abc import Callable, Iterator

import msgspec
import pytest

from holdfast.adapters.prometheus import Prometheus as Adapter
from holdfast.autoscaler.ports import Load
from holdfast.cloud.kubernetes import KubeNode
from tests.real.kubernetes_lists import TOKEN, Lists, serving
from tests.real.presence import present
from tests.real.traces import wait_until
from tests.real.watching import WINDOW_S, watching
from tools.parts.catalog.prometheus import PART, Prometheus
from tools.parts.exporter.start import start_exporter

HISTORY_S = 60


class Watched:
    """A cluster in memory, a Prometheus that scrapes it, and the adapter that asks."""

    def __init__(self, cluster: Lists, prometheus: Prometheus) -> None:
        self.cluster, self.prometheus = cluster, prometheus

    def adapter(self, *, label: str = "") -> Adapter:
        return Adapter(self.prometheus.endpoint, rate_s=WINDOW_S, label=label)

    def workers(self, *names: str) -> list[KubeNode]:
        """As the Kubernetes API lists them."""
        return [msgspec.convert(self.cluster.nodes[name], KubeNode) for name in names]

    def load(self, *names: str, label: str = "") -> Load:
        return self.adapter(label=label).load(self.workers(*names), [], HISTORY_S)

    def wait_for(self, holds: Callable[[Load], bool], *names: str, label: str = "") -> Load:
        seen: list[Load] = []

        def now() -> bool:
            seen.append(self.load(*names, label=label))
            return holds(seen[-1])

        wait_until(now, f"the load of {names} is as wanted")
        return seen[-1]


@pytest.fixture
def watched() -> Iterator[Watched]:
    present(PART)
    with serving() as cluster:
        exporter = start_exporter(cluster.server, token=TOKEN)
        try:
            with watching(exporter) as prometheus:
                yield Watched(cluster, prometheus)
        finally:
            exporter.stop()


def near(value: float) -> Callable[[Load], bool]:
    return lambda load: load.cpu is not None and abs(load.cpu - value) < 0.03


def test_full_load_reads_one_and_the_control_plane_does_not_count(watched: Watched) -> None:
    """Averaged over the busy modes it would read a seventh, and the fleet would never scale up."""
    cluster = watched.cluster
    for name in ("i-1", "i-2", "control-plane"):
        cluster.add_node(name)
    for name in ("i-1", "i-2"):
        cluster.add_pod(f"busy-{name}", name, cpu="4")

    load = watched.wait_for(near(1.0), "i-1", "i-2")

    assert load.peak is not None
    assert load.peak >= 0.97
    assert (load.problem, load.source) == ("", "prometheus")
    watched.wait_for(near(2 / 3), "i-1", "i-2", "control-plane")


def test_a_load_that_left_is_still_the_peak_of_the_window(watched: Watched) -> None:
    watched.cluster.add_node("i-1")
    watched.cluster.add_pod("busy", "i-1", cpu="3")
    watched.wait_for(near(0.75), "i-1")
    del watched.cluster.pods["busy"]

    load = watched.wait_for(near(0.0), "i-1")

    assert load.peak is not None
    assert load.peak > 0.7


def test_machines_are_found_by_their_addresses_too(watched: Watched) -> None:
    """As node-exporter's series are labelled where no rule adds the node's name."""
    watched.cluster.add_node("i-1")
    watched.cluster.add_node("i-2", cpus=12)
    watched.cluster.add_pod("busy", "i-2", cpu="12")
    watched.wait_for(near(0.75), "i-1", "i-2", label="instance")
    watched.wait_for(near(1.0), "i-2", label="instance")


def test_no_data_is_not_zero(watched: Watched) -> None:
    """Nothing scraped yet, then something, then nothing any more: only the middle is a number."""
    watched.cluster.add_node("i-1")
    watched.cluster.out_of_order = True
    load = watched.load("i-1")
    assert load.cpu is None
    assert "0 of 1 ready workers have fresh CPU series" in load.problem

    watched.cluster.out_of_order = False
    watched.wait_for(near(0.0), "i-1")

    watched.cluster.out_of_order = True
    gone = watched.wait_for(lambda load: load.cpu is None, "i-1")
    assert "0 of 1 ready workers" in gone.problem


def test_one_silent_machine_of_two_is_let_pass_and_two_of_three_are_not(watched: Watched) -> None:
    for name in ("i-1", "i-2", "i-3"):
        watched.cluster.add_node(name)
    watched.wait_for(near(0.0), "i-1", "i-2", "i-3")
    before = watched.workers("i-1", "i-2", "i-3")
    for name in ("i-2", "i-3"):
        watched.cluster.add_node(name, ready="Unknown")  # its kubelet and its exporter fall silent

    def fresh(*nodes: KubeNode) -> Load:
        return watched.adapter().load(nodes, [], HISTORY_S)

    wait_until(lambda: fresh(*before).cpu is None, "two of three are missed")
    assert "1 of 3 ready workers" in fresh(*before).problem
    assert fresh(*before[:2]).cpu == pytest.approx(0.0, abs=0.03)
    assert watched.load("i-1", "i-2", "i-3").cpu is not None, "those that are not Ready are not asked for"


def test_ready_nodes_are_those_of_kube_state_metrics(watched: Watched) -> None:
    watched.cluster.add_node("i-1")
    watched.cluster.add_node("i-2", ready="False")
    wait_until(lambda: bool(watched.prometheus.query("kube_node_status_condition")), "it was scraped")
    wait_until(lambda: watched.adapter().ready_nodes() == {"i-1"}, "only one is Ready")


def test_a_prometheus_that_is_gone_is_a_problem_that_names_it(watched: Watched) -> None:
    watched.cluster.add_node("i-1")
    watched.wait_for(near(0.0), "i-1")
    watched.prometheus.stop()
    load = watched.load("i-1")
    assert load.cpu is None
    assert watched.prometheus.endpoint in load.problem
    assert "check prometheus_url" in load.problem
