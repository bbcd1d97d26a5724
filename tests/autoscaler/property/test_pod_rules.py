"""The counted rules against the same rules written the slow way, on drawn clusters."""

import pytest

from holdfast.autoscaler.scheduling import preemption, topology
from tests.scheduling.compared import disagreements, misjudged


@pytest.mark.parametrize("seed", range(100, 160))
def test_counting_gives_what_looking_at_every_pod_gives(seed: int) -> None:
    assert disagreements(topology, seed) == []


@pytest.mark.parametrize("seed", range(100, 140))
def test_places_and_preemptions_are_those_of_the_slow_way(seed: int) -> None:
    assert misjudged(preemption, seed) == []
