"""Both servers, each started once; tests share a database where their groups do not meet."""

from collections.abc import Iterator

import pytest

from tests.real.product.databases.servers import NAMES, Server, started


@pytest.fixture(scope="session", params=NAMES)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with started(request.param) as running:
        yield running


@pytest.fixture(scope="session")
def url(server: Server) -> str:
    return server.make()
