"""Ending machines: many in one call, and none held up by one that EC2 refuses."""

import pytest

from holdfast.adapters.aws.ec2 import Denied
from holdfast.adapters.aws.ec2.terminate import terminate
from holdfast.cloud.launches import Termination
from holdfast.kernel import Busy, Unknown
from tests.real.product.autoscaler_ec2.world import World

ACCEPTED, NOT_KNOWN, PROTECTED = Termination.ACCEPTED, Termination.NOT_KNOWN, Termination.PROTECTED
ABSENT = "i-00000000000000000"


def test_many_end_in_one_call(world: World) -> None:
    ids = world.launched(world.action, count=12)
    before = len(world.calls("TerminateInstances"))
    assert world.cloud.terminate(ids) == dict.fromkeys(ids, ACCEPTED)
    assert len(world.calls("TerminateInstances")) == before + 1
    for each in ids:
        world.ec2.wait_for_state(each, "terminated")


def test_twice_is_once(world: World) -> None:
    [instance] = world.launched(world.action)
    assert world.cloud.terminate([instance, instance]) == {instance: ACCEPTED}
    world.ec2.wait_for_state(instance, "terminated")
    assert world.cloud.terminate([instance]) == {instance: ACCEPTED}
    assert world.account.states_in_log(instance).count("shutting-down") == 1


def test_nothing_to_end_is_no_call(world: World) -> None:
    before = len(world.calls("TerminateInstances"))
    assert world.cloud.terminate([]) == {}
    assert len(world.calls("TerminateInstances")) == before


def test_an_id_that_ec2_does_not_know_holds_up_no_other_machine(world: World) -> None:
    ids = world.launched(world.action, count=4)
    wanted = [ABSENT, *ids[:2], "i-00000000000000001", *ids[2:]]
    answer = world.cloud.terminate(wanted)
    assert answer == {**dict.fromkeys(wanted, NOT_KNOWN), **dict.fromkeys(ids, ACCEPTED)}
    for each in ids:
        world.ec2.wait_for_state(each, "terminated")


def test_only_ids_that_ec2_does_not_know_are_none_accepted(world: World) -> None:
    assert world.cloud.terminate([ABSENT, "nonsense"]) == {ABSENT: NOT_KNOWN, "nonsense": NOT_KNOWN}


def test_a_protected_machine_holds_up_no_other(world: World) -> None:
    protected, *others = world.launched(world.action, count=3)
    attribute = {"Value": True}
    world.account.api.modify_instance_attribute(InstanceId=protected, DisableApiTermination=attribute)
    try:
        answer = world.cloud.terminate([protected, *others])
        assert answer == {protected: PROTECTED, **dict.fromkeys(others, ACCEPTED)}
    finally:
        attribute = {"Value": False}
        world.account.api.modify_instance_attribute(InstanceId=protected, DisableApiTermination=attribute)


def test_a_denial_of_some_holds_up_no_others(world: World) -> None:
    """A policy that asks for our tag denies the whole call for one machine without it."""
    ids = world.launched(world.action, count=3)
    world.ec2.fail_next("TerminateInstances", code="UnauthorizedOperation", status=403)
    assert world.cloud.terminate(ids) == dict.fromkeys(ids, ACCEPTED), "asked for in two halves"


def test_a_denial_of_all_is_told_of_each_and_names_the_permission_where_it_is_asked_for(world: World) -> None:
    ids = world.launched(world.action, count=3)
    world.ec2.fail_next("TerminateInstances", code="UnauthorizedOperation", status=403, times=10)
    assert world.cloud.terminate(ids) == dict.fromkeys(ids, Termination.DENIED)
    with pytest.raises(Denied, match="grant the role this action: ec2:TerminateInstances"):
        terminate(world.client, ids)


def test_a_throttled_end_is_busy_and_a_lost_one_unknown(world: World) -> None:
    [instance] = world.launched(world.action)
    world.ec2.fail_next("TerminateInstances", when="lost")
    with pytest.raises(Unknown, match="ec2:TerminateInstances"):
        world.cloud.terminate([instance])
    world.ec2.wait_for_state(instance, "terminated")
    world.ec2.set_rates(True, {"TerminateInstances": (0, 0.001)})
    with pytest.raises(Busy, match="RequestLimitExceeded"):
        world.cloud.terminate([instance])
