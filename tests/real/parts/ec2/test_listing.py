"""What DescribeInstances shows, and how late."""

import time

import pytest
from botocore.exceptions import ClientError

from tests.real.account import Account, code_of
from tests.real.traces import wait_until


def test_instances_are_found_by_their_client_token(account: Account) -> None:
    mine, other = account.new_token(), account.new_token()
    wanted = account.run(mine, MinCount=2, MaxCount=2)
    account.run(other)
    assert sorted(account.listed(Filters=[{"Name": "client-token", "Values": [mine]}])) == sorted(wanted)
    assert account.listed(Filters=[{"Name": "client-token", "Values": ["never used"]}]) == {}


def test_a_lagging_listing_learns_of_an_instance_late(account: Account) -> None:
    account.ec2.set_lag(2)
    began_s = time.monotonic()
    [instance] = account.run()
    wait_until(lambda: instance in account.listed(), "the listing catches up")
    assert time.monotonic() - began_s >= 2


def test_an_instance_that_is_not_listed_yet_is_not_found_by_its_id(account: Account) -> None:
    account.ec2.freeze_listings()
    [instance] = account.run()
    assert instance not in account.listed()
    with pytest.raises(ClientError) as refused:
        account.listed(InstanceIds=[instance])
    assert code_of(refused.value) == "InvalidInstanceID.NotFound"
    assert account.ec2.instance(instance)["state"] in ("pending", "running"), "it is there all the same"
    account.ec2.thaw_listings()
    assert instance in account.listed()


def test_a_late_listing_still_shows_a_terminated_instance_as_running(account: Account) -> None:
    [instance] = account.run()
    account.ec2.wait_for_state(instance, "running")
    account.ec2.freeze_listings()
    account.terminate(instance)
    assert account.listed()[instance] == "running"
    running = [{"Name": "instance-state-name", "Values": ["running"]}]
    assert instance in account.listed(Filters=running), "filters see the same past"
    account.ec2.thaw_listings()
    assert account.listed()[instance] == "terminated"


def test_a_late_listing_shows_yesterdays_tags(account: Account) -> None:
    tagged = [{"ResourceType": "instance", "Tags": [{"Key": "pool", "Value": "old"}]}]
    [instance] = account.run(TagSpecifications=tagged)
    account.ec2.freeze_listings()
    old, new = ([{"Name": "tag:pool", "Values": [value]}] for value in ("old", "new"))
    account.api.create_tags(Resources=[instance], Tags=[{"Key": "pool", "Value": "new"}])
    assert instance in account.listed(Filters=old)
    assert instance not in account.listed(Filters=new)
    account.ec2.thaw_listings()
    assert instance in account.listed(Filters=new)


def test_a_terminated_instance_is_forgotten_after_a_while(account: Account) -> None:
    [instance] = account.run()
    account.terminate(instance)
    assert account.listed()[instance] == "terminated"
    account.ec2.behave(forget_after_s=0)
    wait_until(lambda: instance not in account.listed(), "the instance is forgotten")
    with pytest.raises(ClientError) as refused:
        account.listed(InstanceIds=[instance])
    assert code_of(refused.value) == "InvalidInstanceID.NotFound"


def test_tags_markets_and_zones_can_be_filtered_for(account: Account) -> None:
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "action", "Value": "a-1"}]}]
    spot = account.run_spot(TagSpecifications=tags, zone="us-east-1b")
    [demanded] = account.run(TagSpecifications=tags)

    def found(**more: str) -> set[str]:
        filters = [{"Name": name.replace("_", "-"), "Values": [value]} for name, value in more.items()]
        return set(account.listed(Filters=[{"Name": "tag:action", "Values": ["a-1"]}, *filters]))

    assert found() == {spot, demanded}
    assert found(instance_lifecycle="spot") == {spot}
    assert found(availability_zone="us-east-1a") == {demanded}
