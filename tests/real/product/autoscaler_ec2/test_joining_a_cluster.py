"""A machine that the adapter launched, as a node of a real control plane."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from holdfast.app.autoscaler.cloud import join_script
from tests.real.boot_site import Site
from tests.real.presence import present
from tests.real.product.autoscaler_ec2.world import World
from tests.real.userdata import TOKEN
from tools.parts.boot.cluster import Join, KubernetesApi
from tools.parts.catalog.ec2 import PART
from tools.parts.catalog.kubernetes import PART as KUBERNETES
from tools.parts.catalog.kwok import PART as KWOK
from tools.parts.cluster import Cluster, start_cluster
from tools.parts.kubernetes.node import is_ready


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    for part in (PART, KUBERNETES, KWOK):
        present(part)
    with start_cluster() as started:
        yield started


@pytest.fixture
def site(cluster: Cluster) -> Iterator[Site]:
    api = KubernetesApi(cluster.server, str(cluster.ca_file), cluster.admin_token)
    started = PART.start(rates=False)
    try:
        yield Site(started, Join(cluster.server, TOKEN, api))
    finally:
        started.stop()


def test_it_is_ready_known_by_its_instance_and_closed_to_pods(site: Site, cluster: Cluster) -> None:
    world = World(site.account, "drainSkipped")
    pool = replace(world.pool, instance_profile="workers")
    world.settings = replace(world.settings, k3s_url=cluster.server, pools=(pool,))
    world.cloud = world.open(user_data=lambda each: join_script(world.settings, each))
    [instance] = world.launched(world.action, pool=pool)

    node = cluster.wait_for(f"/api/v1/nodes/{instance}", is_ready, what=f"{instance} is Ready")

    assert node["spec"]["providerID"] == f"aws:///us-east-1a/{instance}"
    labels = node["metadata"]["labels"]
    assert labels["holdfast.dev/instance-id"] == instance
    assert labels["holdfast.dev/pool"] == "default"
    assert labels["topology.kubernetes.io/zone"] == "us-east-1a"
    taint = {"key": "holdfast.dev/joining", "value": "true", "effect": "NoSchedule"}
    assert taint in node["spec"]["taints"]
