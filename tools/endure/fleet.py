"""A fleet that stands already: machines and nodes made without booting any of them."""

from collections.abc import Iterable, Mapping
from itertools import cycle
from typing import Any

from holdfast.adapters.aws.ec2.tags import ACTION_TAG, POOL_TAG
from holdfast.cloud.kubernetes import INSTANCE_LABEL, POOL_LABEL
from tools.endure.ground import CLUSTER, INSTANCE_TYPE
from tools.parts.kubernetes.commands import SILENT
from tools.parts.site import Site

OURS = {"Cluster": CLUSTER, "Role": "k3s-worker", ACTION_TAG: "1-before", POOL_TAG: "default"}
FOREIGN = {"Cluster": "another-cluster", "Role": "k3s-worker", ACTION_TAG: "1-theirs", POOL_TAG: "default"}


STRANGE = {"key": "another-cluster", "effect": "NoSchedule"}


def is_strange(node: Mapping[str, Any]) -> bool:
    return STRANGE in node["spec"].get("taints", [])


def add_workers(site: Site, count: int) -> list[str]:
    """Spot machines of ours over all zones, each with a node that is Ready."""
    found = _launch(site, count, OURS)
    for instance_id, zone in found.items():
        labels = {
            INSTANCE_LABEL: instance_id,
            POOL_LABEL: "default",
            "topology.kubernetes.io/zone": zone,
        }
        site.cluster.add_node(
            instance_id, labels=labels, provider_id=f"aws:///{zone}/{instance_id}", memory="8Gi"
        )
    site.cluster.wait_until_ready(*found)
    return list(found)


def add_strangers(site: Site, count: int) -> list[str]:
    """Spot machines of another cluster, whose nodes are here by mistake, and take no pod."""
    found = _launch(site, count, FOREIGN)
    for instance_id, zone in found.items():
        site.cluster.add_node(instance_id, taints=[STRANGE], provider_id=f"aws:///{zone}/{instance_id}")
    site.cluster.wait_until_ready(*found)
    return list(found)


def fall_silent(site: Site, instance_ids: Iterable[str]) -> None:
    """The kubelets of machines that have ended report no more, as those of machines that booted do."""
    for instance_id in instance_ids:
        label = {"metadata": {"labels": {SILENT: "true"}}}
        answer = site.cluster.request("PATCH", f"/api/v1/nodes/{instance_id}", label)
        assert answer.status in (200, 404), answer  # its node may be deleted already


def _launch(site: Site, count: int, tags: Mapping[str, str]) -> dict[str, str]:
    """Zone by instance id."""
    client, by_zone = site.client("ec2"), dict.fromkeys(site.subnets, 0)
    for zone, _ in zip(cycle(by_zone), range(count), strict=False):
        by_zone[zone] += 1
    worn = [{"Key": key, "Value": value} for key, value in tags.items()]
    found: dict[str, str] = {}
    for zone, wanted in by_zone.items():
        if wanted:
            answer: Any = client.run_instances(
                ImageId=site.image,
                InstanceType=INSTANCE_TYPE,
                MinCount=wanted,
                MaxCount=wanted,
                SubnetId=site.subnets[zone],
                InstanceMarketOptions={"MarketType": "spot"},
                TagSpecifications=[{"ResourceType": "instance", "Tags": worn}],
            )
            found |= {each["InstanceId"]: zone for each in answer["Instances"]}
    for instance_id in found:
        site.ec2.wait_for_state(instance_id, "running")
    return found
