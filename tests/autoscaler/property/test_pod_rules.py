"""The counted rules against the same rules written the slow way, on drawn clusters."""

import pytest

from holdfast.autoscaler.scheduling import topology
from tests.scheduling.compared import disagreements


@pytest.mark.parametrize("seed", range(100, 160))
def test_counting_gives_what_looking_at_every_pod_gives(seed: int) -> None:
    assert disagreements(topology, seed) == []
