"""Nodes that are being filled: those with too little CPU are passed over, and nothing else changes."""

from collections.abc import Iterator
from random import Random

import pytest

from holdfast.autoscaler.scheduling.fit import Room
from holdfast.autoscaler.scheduling.node_bins import NodeBins, fill
from holdfast.autoscaler.scheduling.pod_groups import PodGroup, PodTemplates, group_pods
from holdfast.autoscaler.scheduling.topology import Topology
from holdfast.cloud.requests import Amount
from tests.workloads import pod


def group(name: str, cpu_m: int, count: int = 1) -> PodGroup:
    pods = [pod(f"{name}-{n}", requests={"cpu": f"{cpu_m}m"} if cpu_m else {}) for n in range(count)]
    (made,) = group_pods(PodTemplates(pods), Topology())
    return made


def rooms(*free_m: int) -> list[Room]:
    return [Room(name=f"n-{n}", free=Amount(cpu_m, 8 << 30, 110)) for n, cpu_m in enumerate(free_m)]


@pytest.mark.parametrize("seed", range(30))
def test_pods_go_where_they_would_if_every_node_were_asked(seed: int) -> None:
    random = Random(seed)
    free_m = [random.choice((-100, 0, 1, 255, 256, 900, 4_000)) for _ in range(30)]
    groups = [
        group(f"g{n}", random.choice((0, 1, 100, 255, 256, 257, 1_000)), random.randint(1, 9))
        for n in range(12)
    ]
    asked, all_of_them = NodeBins(rooms(*free_m)), NodeBins(rooms(*free_m))

    for each in groups:
        assert fill(each, asked.roomy_for(each), Topology()) == fill(each, all_of_them, Topology())


def test_a_node_with_too_little_cpu_is_looked_at_once() -> None:
    node_bins = NodeBins(rooms(100, 900, 100, 800))

    for _ in range(2):
        assert [each.room.name for each in node_bins.roomy_for(group("web", 512))] == ["n-1", "n-3"]
    assert [each.room.name for each in node_bins] == ["n-0", "n-1", "n-2", "n-3"]


def test_no_node_is_touched_before_it_is_needed() -> None:
    touched: list[str] = []

    def told() -> Iterator[Room]:
        for room in rooms(900, 900):
            touched.append(room.name)
            yield room

    node_bins = NodeBins(told())

    fill(group("web", 500), node_bins.roomy_for(group("web", 500)), Topology())
    assert touched == ["n-0"]
