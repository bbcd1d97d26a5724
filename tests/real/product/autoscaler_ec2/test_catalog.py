"""Zones, shapes, prices and consoles: asked for once, and again when they may have changed."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from holdfast.adapters.aws.ec2 import Denied
from holdfast.adapters.aws.ssm import NoParameter, make_client, parameter
from holdfast.cloud import Market, Offering
from holdfast.kernel import Busy, Invalid
from tests.real.product.autoscaler_ec2.world import World

ZONE = "us-east-1a"
SPOT = Offering(ZONE, Market.SPOT, "m5.large")


def counted(world: World, operation: str) -> list[Any]:
    asked: list[Any] = []
    world.client.meta.events.register(
        f"provide-client-params.ec2.{operation}", lambda params, **_: asked.append(params)
    )
    return asked


def test_a_subnet_has_a_zone_and_is_asked_for_once(world: World) -> None:
    asked = counted(world, "DescribeSubnets")
    zones = {subnet: zone for zone, subnet in world.ec2.subnets().items()}
    cloud = world.open(page=5)
    assert cloud.subnets(list(zones)) == zones
    pages = len(asked)
    assert cloud.subnets(list(zones)[:2]) == dict(list(zones.items())[:2])
    assert len(asked) == pages


def test_a_subnet_that_is_not_there_is_named(world: World) -> None:
    with pytest.raises(Invalid, match="subnet_ids: subnet-0badbad: no such subnet"):
        world.cloud.subnets([*world.pool.subnet_ids, "subnet-0badbad"])


def test_shapes_are_those_of_the_types_and_are_asked_for_once(world: World) -> None:
    asked = counted(world, "DescribeInstanceTypes")
    cloud = world.open()
    found = cloud.shapes(["m5.large", "c6g.xlarge"])
    assert (found["m5.large"].cpu_m, found["m5.large"].architecture) == (2_000, "amd64")
    assert (found["c6g.xlarge"].cpu_m, found["c6g.xlarge"].architecture) == (4_000, "arm64")
    assert 7 * 2**30 < found["m5.large"].memory < 8 * 2**30
    assert found["m5.large"].pods == world.settings.pods_per_node
    assert cloud.shapes(["m5.large"])["m5.large"] == found["m5.large"]
    assert len(asked) == 1


def test_a_type_that_is_not_there_is_named(world: World) -> None:
    with pytest.raises(Invalid, match=r"instance_types: m5\.enormous: no such type"):
        world.cloud.shapes(["m5.large", "m5.enormous"])


def test_the_newest_price_of_each_pool_counts_on_every_page(world: World) -> None:
    now_s = time.time()
    kinds, zones = ("m5.large", "c5.large"), ("us-east-1a", "us-east-1b")
    for kind in kinds:
        for zone in zones:
            world.ec2.set_price(kind, zone, "0.9", at_s=now_s - 7_200)
            world.ec2.set_price(kind, zone, f"0.0{len(kind)}{zones.index(zone)}", at_s=now_s - 3_600)
    wanted = [Offering(zone, Market.SPOT, kind) for kind in kinds for zone in zones]
    nowhere = Offering("us-east-1c", Market.SPOT, "m5.large")
    found = world.open(page=1).prices([*wanted, nowhere])
    assert [found.usd(each) for each in wanted] == [0.080, 0.081, 0.080, 0.081]
    assert found.usd(nowhere) is None


def test_prices_are_kept_for_ten_minutes(world: World) -> None:
    now = [time.time()]
    cloud = world.open(now_s=lambda: now[0])
    world.ec2.set_price("m5.large", ZONE, "0.04", at_s=now[0] - 100)
    assert cloud.prices([SPOT]).usd(SPOT) == 0.04
    world.ec2.set_price("m5.large", ZONE, "0.05", at_s=now[0])
    now[0] += 599
    assert cloud.prices([SPOT]).usd(SPOT) == 0.04
    now[0] += 1
    assert cloud.prices([SPOT]).usd(SPOT) == 0.05


def test_on_demand_prices_are_the_settings(world: World) -> None:
    world.settings = replace(world.settings, usd_per_hour={"m5.large": 0.096})
    asked = counted(world, "DescribeSpotPriceHistory")
    known, unknown = (Offering(ZONE, Market.ON_DEMAND, kind) for kind in ("m5.large", "c5.large"))
    found = world.open().prices([known, unknown])
    assert (found.usd(known), found.usd(unknown)) == (0.096, None)
    assert asked == []


def test_each_look_that_is_not_allowed_names_its_permission(world: World) -> None:
    looks: dict[str, Callable[[], object]] = {
        "DescribeInstances": world.cloud.instances,
        "DescribeSubnets": lambda: world.cloud.subnets(world.pool.subnet_ids),
        "DescribeInstanceTypes": lambda: world.cloud.shapes(["m5.large"]),
        "DescribeSpotPriceHistory": lambda: world.cloud.prices([SPOT]),
        "DescribeLaunchTemplateVersions": lambda: world.cloud.templates([world.pool]),
        "GetConsoleOutput": lambda: world.cloud.console("i-1"),
    }
    for action, look in looks.items():
        world.ec2.fail_next(action, code="UnauthorizedOperation", status=403)
        with pytest.raises(Denied, match=f"grant the role this action: ec2:{action}"):
            look()
        world.ec2.fail_next(action, code="RequestLimitExceeded", status=503)
        with pytest.raises(Busy, match=action):
            look()


def test_a_machine_that_printed_nothing_or_is_not_known_has_an_empty_console(world: World) -> None:
    [instance] = world.launched(world.action)
    assert world.cloud.console(instance) == ""
    assert world.cloud.console("i-00000000000000000") == ""


def test_a_parameter_is_decrypted_and_a_missing_one_is_named(world: World) -> None:
    client = make_client(endpoint_url=world.ec2.endpoint, region=world.ec2.region)
    name = f"/{world.settings.cluster_name}/token"
    with pytest.raises(NoParameter, match=f"there is no parameter {name}"):
        parameter(client, name)
    client.put_parameter(Name=name, Value="sesame", Type="SecureString")
    assert parameter(client, name) == "sesame"
