"""Instances of the stand-in as nodes of a real cluster."""

from collections.abc import Iterator

import pytest

from tests.real.boot_site import Site
from tests.real.presence import present
from tests.real.userdata import TOKEN, joining
from tools.parts.boot.cluster import Join, KubernetesApi
from tools.parts.catalog.ec2 import PART
from tools.parts.catalog.kubernetes import PART as KUBERNETES
from tools.parts.catalog.kwok import PART as KWOK
from tools.parts.cluster import Cluster, start_cluster
from tools.parts.kubernetes.node import is_ready, ready_status


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    for part in (PART, KUBERNETES, KWOK):
        present(part)
    with start_cluster(node_grace_s=5) as started:
        yield started


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Iterator[Site]:
    api = KubernetesApi(cluster.server, str(cluster.ca_file), cluster.admin_token)
    started = PART.start(rates=False)
    try:
        yield Site(started, Join(cluster.server, TOKEN, api))
    finally:
        started.stop()


def test_a_booted_instance_becomes_a_ready_node_and_a_silent_one_when_it_ends(
    site: Site, cluster: Cluster
) -> None:
    instance = site.launch(joining(cluster.server), profile=True, InstanceType="c5.xlarge")
    path = f"/api/v1/nodes/{instance}"
    node = cluster.wait_for(path, is_ready, what=f"{instance} is Ready")
    assert node["spec"]["providerID"] == f"aws:///us-east-1a/{instance}"
    assert node["metadata"]["labels"]["pool"] == "default"
    taint = {"key": "holdfast.dev/unconfirmed", "value": "true", "effect": "NoSchedule"}
    assert taint in node["spec"]["taints"]
    assert (node["status"]["capacity"]["cpu"], node["status"]["capacity"]["memory"]) == ("4", "8Gi")

    site.account.terminate(instance)
    gone = cluster.wait_for(path, lambda seen: ready_status(seen) == "Unknown", what="its kubelet is missed")
    assert gone["metadata"]["uid"] == node["metadata"]["uid"], "the Node itself stays"


def test_a_node_of_that_name_that_is_not_ours_is_not_taken_over(site: Site, cluster: Cluster) -> None:
    cluster.add_node("taken", provider_id="aws:///us-east-1a/i-other")
    script = f"""#!/bin/sh
curl -sfL https://get.k3s.io | K3S_URL={cluster.server} K3S_TOKEN={TOKEN} sh -s - --node-name taken
"""
    instance = site.launch(script)
    site.assert_never_joins(instance, "node password rejected")
    cluster.request("DELETE", "/api/v1/nodes/taken").ok()
    site.wait_to_join(instance)
    assert cluster.request("GET", "/api/v1/nodes/taken").ok()["spec"]["providerID"] == "k3s://taken"
