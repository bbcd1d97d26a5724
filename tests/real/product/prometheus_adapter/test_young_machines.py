"""A machine that has just joined: Prometheus knows it for less long than the window of a rate."""

import pytest

from holdfast.adapters.prometheus import Prometheus as Adapter
from holdfast.autoscaler.ports import Load
from tests.real.product.prometheus_adapter.test_prometheus_adapter import HISTORY_S, Watched, watched
from tests.real.traces import wait_until

__all__ = ["watched"]
LONG_S = 600


@pytest.fixture
def first(watched: Watched) -> Load:
    """The first load that can be told of a machine that idles."""
    watched.cluster.add_node("i-1")
    adapter = Adapter(watched.prometheus.endpoint, rate_s=LONG_S)
    seen: list[Load] = []

    def is_told() -> bool:
        seen.append(adapter.load(watched.workers("i-1"), [], HISTORY_S))
        return seen[-1].cpu is not None

    wait_until(is_told, "the load of a new machine is told")
    return seen[-1]


def test_a_new_machine_is_not_busy_for_the_time_it_did_not_exist(first: Load) -> None:
    """A bare rate divides by the whole window: it would read nearly 1, and every scale-up bring another."""
    assert first.cpu == pytest.approx(0.0, abs=0.03)
    assert first.peak == pytest.approx(0.0, abs=0.03)
