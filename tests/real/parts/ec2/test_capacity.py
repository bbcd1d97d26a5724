"""What EC2 has not, and how often it may be asked."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.real.account import Account, code_of, status_of
from tests.real.traces import wait_until


def test_a_launch_gets_as_many_as_there_are_if_that_is_enough(account: Account) -> None:
    account.ec2.set_capacity(3, instance_type="m5.large", zone="us-east-1a", market="on-demand")
    assert len(account.run(MinCount=1, MaxCount=5)) == 3
    with pytest.raises(ClientError) as refused:
        account.run()
    assert code_of(refused.value) == "InsufficientInstanceCapacity"


def test_a_launch_that_cannot_have_its_least_gets_nothing(account: Account) -> None:
    before = set(account.listed())
    account.ec2.set_capacity(3, instance_type="m5.large")
    with pytest.raises(ClientError) as refused:
        account.run(MinCount=4, MaxCount=5)
    assert code_of(refused.value) == "InsufficientInstanceCapacity"
    assert set(account.listed()) <= before
    assert len(account.run(MinCount=3, MaxCount=3)) == 3, "the refusal used nothing up"


def test_one_zone_may_be_empty_while_another_is_not(account: Account) -> None:
    account.ec2.set_capacity(0, zone="us-east-1a")
    with pytest.raises(ClientError) as refused:
        account.run(zone="us-east-1a")
    assert (code_of(refused.value), status_of(refused.value)) == ("InsufficientInstanceCapacity", 500)
    assert "us-east-1a" in str(refused.value)
    assert len(account.run(zone="us-east-1b")) == 1


def test_spot_may_be_empty_while_on_demand_is_not(account: Account) -> None:
    account.ec2.set_capacity(0, market="spot", instance_type="m5.large")
    with pytest.raises(ClientError) as refused:
        account.run_spot()
    assert code_of(refused.value) == "InsufficientInstanceCapacity"
    assert len(account.run()) == 1
    assert account.run_spot(InstanceType="c5.large")


def test_without_a_zone_the_launch_goes_where_there_is_room(account: Account) -> None:
    for zone in ("us-east-1a", "us-east-1b"):
        account.ec2.set_capacity(0, zone=zone)
    [instance] = account.run(zone=None)
    assert account.ec2.instance(instance)["zone"] == "us-east-1c"


def test_a_pool_may_refuse_with_another_code(account: Account) -> None:
    account.ec2.set_capacity(0, market="spot", code="MaxSpotInstanceCountExceeded")
    with pytest.raises(ClientError) as refused:
        account.run_spot()
    assert code_of(refused.value) == "MaxSpotInstanceCountExceeded"


def test_launches_beyond_the_burst_are_refused_until_the_bucket_fills(account: Account) -> None:
    account.ec2.set_rates(True)

    def refusal(_: int) -> tuple[str, int] | None:
        try:
            account.run()
        except ClientError as error:
            return code_of(error), status_of(error)
        return None

    began_s = time.monotonic()
    with ThreadPoolExecutor(16) as racers:
        answers = list(racers.map(refusal, range(16)))
    passed, took_s = answers.count(None), time.monotonic() - began_s
    assert set(answers) == {None, ("RequestLimitExceeded", 503)}
    assert 5 <= passed <= 5 + 2 * took_s + 1, "a burst of five, then two a second"
    wait_until(lambda: refusal(0) is None, "a token has come back")


def test_one_call_for_many_instances_is_one_request(account: Account) -> None:
    account.ec2.set_rates(True, {"RunInstances": (1, 0.001)})
    assert len(account.run(MinCount=1, MaxCount=20)) == 20


def test_listings_and_terminations_have_rates_of_their_own(account: Account) -> None:
    account.ec2.set_rates(True, {"DescribeInstances": (1, 0.001), "TerminateInstances": (1, 0.001)})
    [instance] = account.run()
    assert account.listed(InstanceIds=[instance])
    with pytest.raises(ClientError) as listing:
        account.listed(InstanceIds=[instance])
    account.api.terminate_instances(InstanceIds=[instance])
    with pytest.raises(ClientError) as termination:
        account.api.terminate_instances(InstanceIds=[instance])
    assert [code_of(e.value) for e in (listing, termination)] == ["RequestLimitExceeded"] * 2


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ({"InstanceType": "m5.enormous"}, "InvalidParameterValue"),
        ({"InstanceType": "m5.large", "zone": "us-east-1e"}, "Unsupported"),
        ({"ImageId": "ami-0123456789abcdef0"}, "InvalidAMIID.NotFound"),
        ({"ClientToken": "t" * 65}, "InvalidParameterValue"),
        ({"UserData": "#!/bin/sh\n" + "#" * 16384}, "InvalidParameterValue"),
        ({"MinCount": 2, "MaxCount": 1}, "InvalidParameterValue"),
        ({"LaunchTemplate": {"LaunchTemplateName": "nosuch"}}, "InvalidLaunchTemplateName.NotFoundException"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_nonsense_is_refused_and_launches_nothing(
    account: Account, wanted: dict[str, Any], code: str
) -> None:
    before = set(account.listed())
    with pytest.raises(ClientError) as refused:
        account.run(**wanted)
    assert code_of(refused.value) == code
    assert set(account.listed()) <= before


def test_a_dry_run_says_that_it_would_have_worked_and_launches_nothing(account: Account) -> None:
    before, token = set(account.listed()), account.new_token()
    with pytest.raises(ClientError) as refused:
        account.run(token, DryRun=True)
    assert code_of(refused.value) == "DryRunOperation"
    assert set(account.listed()) <= before
    assert len(account.run(token)) == 1, "the token was not used up"
