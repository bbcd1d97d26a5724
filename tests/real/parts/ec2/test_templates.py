"""What a launch template says counts as if the request had said it."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.real.account import Account, code_of
from tools.parts.imds.client import get, open_session

NAME = "spot-workers"


@pytest.fixture(scope="module")
def template(everything: Account) -> str:
    """Spot, in one zone, with tags to be read from inside."""
    everything.api.create_launch_template(
        LaunchTemplateName=NAME,
        LaunchTemplateData={
            "ImageId": everything.image,
            "InstanceType": "m5.large",
            "InstanceMarketOptions": {"MarketType": "spot"},
            "NetworkInterfaces": [{"DeviceIndex": 0, "SubnetId": everything.subnets["us-east-1c"]}],
            "MetadataOptions": {"InstanceMetadataTags": "enabled"},
            "TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "pool", "Value": "a"}]}],
        },
    )
    return NAME


def run(account: Account, **more: Any) -> dict[str, Any]:
    asked = {"MinCount": 1, "MaxCount": 1, "LaunchTemplate": {"LaunchTemplateName": NAME, "Version": "1"}}
    [launched] = account.api.run_instances(**asked, **more)["Instances"]
    return dict(launched)


def test_market_zone_tags_and_options_come_from_the_template(account: Account, template: str) -> None:
    launched = run(account)
    assert launched["InstanceLifecycle"] == "spot"
    assert launched["SpotInstanceRequestId"].startswith("sir-")
    assert launched["Placement"]["AvailabilityZone"] == "us-east-1c"
    metadata = account.ec2.imds(launched["InstanceId"])
    session = open_session(metadata)
    assert get(metadata, "meta-data/tags/instance/pool", session) == (200, "a")
    assert get(metadata, "meta-data/instance-life-cycle", session) == (200, "spot")


def test_capacity_is_that_of_the_templates_zone_and_market(account: Account, template: str) -> None:
    account.ec2.set_capacity(0, zone="us-east-1c", market="spot")
    with pytest.raises(ClientError) as refused:
        run(account)
    assert code_of(refused.value) == "InsufficientInstanceCapacity"


def test_the_request_outranks_the_template(account: Account, template: str) -> None:
    assert run(account, InstanceType="c5.large")["InstanceType"] == "c5.large"


def test_a_subnet_beside_the_templates_interface_is_refused(account: Account, template: str) -> None:
    with pytest.raises(ClientError) as refused:
        run(account, SubnetId=account.subnets["us-east-1a"])
    assert code_of(refused.value) == "InvalidParameterCombination"


def test_a_version_that_does_not_exist_is_refused(account: Account, template: str) -> None:
    with pytest.raises(ClientError) as refused:
        account.run(LaunchTemplate={"LaunchTemplateName": NAME, "Version": "7"}, zone=None)
    assert code_of(refused.value) == "InvalidLaunchTemplateId.VersionNotFound"
