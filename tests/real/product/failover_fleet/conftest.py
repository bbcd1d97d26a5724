"""Lines that end with the test that drew them."""

from collections.abc import Iterator

import pytest

from tests.real.product.failover_fleet.network import Network


@pytest.fixture
def network() -> Iterator[Network]:
    made = Network()
    yield made
    made.close()
