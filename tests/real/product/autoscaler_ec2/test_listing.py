"""Which machines the adapter sees: the cluster's workers in every state, and no others."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.adapters.aws.ec2 import make_client
from holdfast.app.autoscaler.cloud import Ec2Cloud
from holdfast.cloud import Instance, Market, State
from holdfast.kernel import Busy
from tests.real.product.autoscaler_ec2.world import World
from tools.parts.ports import free_port


def tagged(**tags: str) -> list[dict[str, Any]]:
    return [{"ResourceType": "instance", "Tags": [{"Key": k, "Value": v} for k, v in tags.items()]}]


def seen(world: World) -> dict[str, Instance]:
    return {each.instance_id: each for each in world.cloud.instances()}


def test_a_launched_worker_is_seen_as_it_is(world: World) -> None:
    row = world.row(market=Market.SPOT, zone="us-east-1b")
    [instance] = world.launched(world.action, market=Market.SPOT, zone="us-east-1b")
    world.ec2.wait_for_state(instance, "running")

    [found] = world.cloud.instances()

    assert replace(found, launched_s=0, private_ip="", private_dns="") == Instance(
        instance_id=instance,
        state=State.RUNNING,
        zone="us-east-1b",
        instance_type="m5.large",
        market=Market.SPOT,
        pool="default",
        action_id=world.action,
        token=row.token(world.action),
        template=f"{row.template_id}:{row.template_version}",
    )
    assert found.launched_s > 1_700_000_000
    assert found.is_ours, "its client token follows from its action"
    assert found.private_ip.replace(".", "-") in found.private_dns


def test_the_dead_and_the_stopped_are_listed_too(world: World) -> None:
    gone, stopped, alive = world.launched(world.action, count=3)
    for each in (gone, stopped, alive):
        world.ec2.wait_for_state(each, "running")
    world.account.terminate(gone)
    world.account.api.stop_instances(InstanceIds=[stopped])
    world.ec2.wait_for_state(stopped, "stopped")

    states = {each: found.state for each, found in seen(world).items()}

    assert states == {gone: State.TERMINATED, stopped: State.STOPPED, alive: State.RUNNING}


def test_a_worker_that_was_launched_by_hand_is_seen_and_is_not_ours_to_remove(world: World) -> None:
    cluster = world.settings.cluster_name
    [foreign] = world.account.run(TagSpecifications=tagged(Cluster=cluster, Role="k3s-worker"))
    found = seen(world)[foreign]
    assert (found.action_id, found.pool, found.market) == ("", "default", Market.ON_DEMAND)


def test_other_clusters_and_machines_of_no_cluster_are_not_seen(world: World) -> None:
    world.account.run(TagSpecifications=tagged(Cluster="elsewhere", Role="k3s-worker"))
    world.account.run(TagSpecifications=tagged(Role="k3s-worker"))
    world.account.run(TagSpecifications=tagged(Cluster=world.settings.cluster_name))
    world.account.run()
    assert seen(world) == {}


def test_the_control_plane_is_never_among_the_workers(world: World) -> None:
    cluster = world.settings.cluster_name
    [plane] = world.account.run(TagSpecifications=tagged(Cluster=cluster, Role="k3s-control-plane"))
    assert plane not in seen(world)


def test_a_machine_with_the_tags_of_both_is_the_control_plane(world: World) -> None:
    """Its tag outranks a worker's, and even an action of ours: ending it would end the cluster."""
    settings = replace(world.settings, master_tag_key="Plane", master_tag_value="yes")
    both = {
        "Cluster": settings.cluster_name,
        "Role": "k3s-worker",
        "Plane": "yes",
        "holdfast:action": world.action,
    }
    [plane] = world.account.run(TagSpecifications=tagged(**both))
    [worker] = world.account.run(TagSpecifications=tagged(**{**both, "Plane": "no"}))
    world.ec2.wait_for_state(plane, "running")
    cloud = Ec2Cloud(world.client, settings)
    assert [each.instance_id for each in cloud.instances()] == [worker]
    address = world.account.api.describe_instances(InstanceIds=[plane])
    assert cloud.control_plane_address() == address["Reservations"][0]["Instances"][0]["PrivateIpAddress"]


def test_a_cluster_without_a_control_plane_has_no_address(world: World) -> None:
    assert world.cloud.control_plane_address() == ""


def test_every_page_is_read(world: World) -> None:
    for n in range(12):
        world.launched(world.action, group=n)
    asked: list[dict[str, Any]] = []
    world.client.meta.events.register(
        "provide-client-params.ec2.DescribeInstances", lambda params, **_: asked.append(params)
    )
    found = world.open(page=5).instances()
    assert len({each.instance_id for each in found}) == len(found) == 12
    assert len(asked) >= 3
    assert all(each["MaxResults"] == 5 for each in asked)


def test_a_page_too_many_is_busy_and_half_a_listing_is_none(world: World) -> None:
    for n in range(6):
        world.launched(world.action, group=n)
    world.ec2.set_rates(True, {"DescribeInstances": (1, 0.001)})
    with pytest.raises(Busy, match="ec2:DescribeInstances: RequestLimitExceeded"):
        world.open(page=5).instances()


def test_an_answer_that_is_lost_is_busy_because_looking_changes_nothing(world: World) -> None:
    world.ec2.fail_next("DescribeInstances", when="lost")
    with pytest.raises(Busy, match="ec2:DescribeInstances"):
        world.cloud.instances()


def test_a_server_that_cannot_be_reached_is_busy(world: World) -> None:
    silent = make_client(endpoint_url=f"http://127.0.0.1:{free_port()}", region="us-east-1")
    with pytest.raises(Busy, match="ec2:DescribeInstances"):
        Ec2Cloud(silent, world.settings).instances()
