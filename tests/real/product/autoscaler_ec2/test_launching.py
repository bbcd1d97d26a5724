"""One launch row, asked for once or often: the same machines, or a refusal that has a name."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from holdfast.cloud import Market
from holdfast.cloud.launches import Launched, Refusal, Refused
from holdfast.kernel import Busy, Unknown
from tests.real.product.autoscaler_ec2.world import World


def refused(answer: Launched | Refused) -> Refused:
    assert isinstance(answer, Refused), answer
    return answer


def fresh(world: World, action_id: str) -> int:
    """How many machines this action has really brought, by the stand-in's own log."""
    tokens = {world.row(group=n).token(action_id) for n in range(4)}
    runs = [c for c in world.calls("RunInstances") if c["token"] in tokens and c["outcome"] == "ok"]
    return len({each for call in runs for each in call["instances"]})


def test_twice_is_once(world: World) -> None:
    row = world.row(count=3)
    first = world.cloud.launch(world.action, row)
    assert world.open().launch(world.action, row) == first
    assert isinstance(first, Launched)
    assert len(first.instance_ids) == 3
    assert fresh(world, world.action) == 3


def test_many_hands_at_once_launch_once(world: World) -> None:
    row = world.row(count=2)
    with ThreadPoolExecutor(8) as threads:
        answers = list(
            threads.map(lambda cloud: cloud.launch(world.action, row), [world.open() for _ in range(8)])
        )
    assert len(set(answers)) == 1
    assert fresh(world, world.action) == 2


def test_another_attempt_and_another_action_are_other_machines(world: World) -> None:
    row = world.row()
    rows = [
        (world.action, row),
        (world.action, replace(row, attempt=2)),
        (world.action, replace(row, group=1)),
        (f"{world.action}-2", row),
    ]
    answers = [world.cloud.launch(action_id, each) for action_id, each in rows]
    ids = [answer.instance_ids for answer in answers if isinstance(answer, Launched)]
    assert len(set(ids)) == 4


def test_a_launch_whose_answer_was_lost_is_found_by_asking_again(world: World) -> None:
    row = world.row(count=2)
    world.ec2.fail_next("RunInstances", when="lost")
    with pytest.raises(Unknown, match="ec2:RunInstances"):
        world.cloud.launch(world.action, row)
    answer = world.cloud.launch(world.action, row)
    assert isinstance(answer, Launched)
    assert len(answer.instance_ids) == fresh(world, world.action) == 2


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_server_that_breaks_leaves_it_open_what_happened(world: World, when: str) -> None:
    row = world.row()
    world.ec2.fail_next("RunInstances", when=when)
    with pytest.raises(Unknown, match="InternalError"):
        world.cloud.launch(world.action, row)
    assert fresh(world, world.action) == (1 if when == "after" else 0)
    world.cloud.launch(world.action, row)
    assert fresh(world, world.action) == 1


def test_nothing_is_tried_again_behind_our_back(world: World) -> None:
    row = world.row()
    before = len(world.calls("RunInstances"))
    world.ec2.fail_next("RunInstances", times=5)
    with pytest.raises(Unknown):
        world.cloud.launch(world.action, row)
    assert len(world.calls("RunInstances")) == before + 1


def test_too_many_launches_are_busy_and_nothing_is_launched(world: World) -> None:
    row = world.row()
    world.ec2.set_rates(True, {"RunInstances": (0, 0.001)})
    with pytest.raises(Busy, match="ec2:RunInstances: RequestLimitExceeded"):
        world.cloud.launch(world.action, row)
    assert fresh(world, world.action) == 0


def test_fewer_than_wanted_are_a_success(world: World) -> None:
    world.ec2.set_capacity(2, instance_type="m5.large", zone="us-east-1a", market="spot")
    row = world.row(count=5, market=Market.SPOT)
    answer = world.cloud.launch(world.action, row)
    assert isinstance(answer, Launched)
    assert len(answer.instance_ids) == 2
    assert refused(world.cloud.launch(world.action, replace(row, attempt=2))).kind is Refusal.CAPACITY


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("InsufficientInstanceCapacity", Refusal.CAPACITY),
        ("SpotMaxPriceTooLow", Refusal.CAPACITY),
        ("InsufficientFreeAddressesInSubnet", Refusal.SUBNET),
        ("MaxSpotInstanceCountExceeded", Refusal.QUOTA),
        ("VcpuLimitExceeded", Refusal.QUOTA),
        ("InstanceLimitExceeded", Refusal.QUOTA),
    ],
)
def test_a_pool_without_room_says_what_kind_of_no_it_is(world: World, code: str, kind: Refusal) -> None:
    world.ec2.set_capacity(0, market="spot", code=code)
    answer = refused(world.cloud.launch(world.action, world.row(market=Market.SPOT)))
    assert (answer.kind, code in answer.message) == (kind, True)


def test_a_type_that_its_zone_does_not_have_is_a_matter_of_capacity(world: World) -> None:
    answer = refused(world.cloud.launch(world.action, world.row(zone="us-east-1e")))
    assert (answer.kind, "us-east-1e" in answer.message) == (Refusal.CAPACITY, True)


@pytest.mark.parametrize("behaviour", ["refuse", "return"])
def test_a_token_whose_machines_are_gone_existed(world: World, behaviour: str) -> None:
    """EC2 has answered this in two ways: with an error since 2025, and before with the dead."""
    world.ec2.behave(terminated_token=behaviour)
    row = world.row(count=2)
    answer = world.cloud.launch(world.action, row)
    assert isinstance(answer, Launched)
    world.account.terminate(*answer.instance_ids)
    assert refused(world.cloud.launch(world.action, row)).kind is Refusal.EXISTED
    assert fresh(world, world.action) == 2


def test_a_token_of_which_one_machine_lives_brings_all_their_names(world: World) -> None:
    row = world.row(count=2)
    answer = world.cloud.launch(world.action, row)
    assert isinstance(answer, Launched)
    world.account.terminate(answer.instance_ids[0])
    assert world.cloud.launch(world.action, row) == answer


def test_the_token_of_another_request_is_a_mismatch(world: World) -> None:
    row = world.row(count=1)
    world.cloud.launch(world.action, row)
    assert refused(world.cloud.launch(world.action, replace(row, count=2))).kind is Refusal.MISMATCH


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        ({"subnet_id": "subnet-00000000"}, Refusal.SUBNET, "setting subnet_ids of pool default"),
        ({"template_version": 99}, Refusal.REFUSED, "setting launch_template_id of pool default"),
        ({"instance_type": "m5.enormous"}, Refusal.TYPE, "InvalidParameterValue"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_asking_elsewhere_would_not_help_is_refused_with_the_fix(
    world: World, change: dict[str, Any], kind: Refusal, said: str
) -> None:
    answer = refused(world.cloud.launch(world.action, replace(world.row(), **change)))
    assert answer.kind is kind
    assert said in answer.message


def test_a_lack_of_permission_is_refused_with_the_fix(world: World) -> None:
    row = world.row()
    world.ec2.fail_next("RunInstances", code="UnauthorizedOperation", status=403)
    answer = refused(world.cloud.launch(world.action, row))
    assert answer.kind is Refusal.REFUSED
    assert "grant the role this action: ec2:RunInstances" in answer.message


def test_market_and_tags_arrive_on_the_machine_and_its_disk(world: World) -> None:
    [instance] = world.launched(world.action, market=Market.SPOT, group=3)
    described = world.account.api.describe_instances(InstanceIds=[instance])
    [found] = described["Reservations"][0]["Instances"]
    tags = {tag["Key"]: tag["Value"] for tag in found["Tags"]}
    assert found["InstanceLifecycle"] == "spot"
    assert tags["holdfast:action"] == world.action
    assert tags["holdfast:group"] == "3"
    assert tags["Name"] == f"{world.settings.cluster_name}-default"
    [call] = [c for c in world.calls("RunInstances") if instance in c.get("instances", ())]
    asked = call["parameters"]
    assert asked["TagSpecification.2.ResourceType"] == "volume"
    assert asked["InstanceMarketOptions.SpotOptions.SpotInstanceType"] == "one-time"
    assert asked["InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior"] == "terminate"
    assert "UserData" not in asked
