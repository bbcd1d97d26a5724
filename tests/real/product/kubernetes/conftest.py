"""One cluster for the whole folder; each test has a namespace and nodes of its own."""

from collections.abc import Iterator

import pytest

from holdfast.adapters.kubernetes import ClusterAccess, KubernetesApi, connect
from tests.real.corner import Corner
from tests.real.presence import present
from tools.parts.catalog.kubernetes import PART as KUBERNETES
from tools.parts.catalog.kwok import PART as KWOK
from tools.parts.cluster import Cluster, start_cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    for part in (KUBERNETES, KWOK):
        present(part)
    with start_cluster(users=["limited"]) as started:
        yield started


@pytest.fixture
def corner(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Corner]:
    with Corner(cluster, request.node.name) as mine:
        yield mine


@pytest.fixture
def api(cluster: Cluster) -> Iterator[KubernetesApi]:
    """Signed in as the administrator, by kubeconfig."""
    with connect(ClusterAccess(kubeconfig=str(cluster.kubeconfig)), environ={}) as made:
        yield made
