"""One cluster for the whole folder; each test has a namespace and a label for nodes of its own."""

from collections.abc import Iterator

import pytest

from tests.real.corner import Corner
from tests.real.presence import present
from tools.parts.catalog.kubernetes import PART as KUBERNETES
from tools.parts.catalog.kwok import PART as KWOK
from tools.parts.cluster import Cluster, start_cluster

NODE_GRACE_S = 12


@pytest.fixture(scope="session")
def installed() -> None:
    for part in (KUBERNETES, KWOK):
        present(part)


@pytest.fixture(scope="session")
def cluster(installed: None) -> Iterator[Cluster]:
    with start_cluster(users=["limited"], node_grace_s=NODE_GRACE_S) as started:
        yield started


@pytest.fixture
def corner(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Corner]:
    with Corner(cluster, request.node.name) as mine:
        yield mine
