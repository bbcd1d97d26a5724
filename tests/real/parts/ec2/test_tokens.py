"""A client token stands for one launch."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError

from tests.real.account import Account, code_of

RACERS = 8


def test_racing_launches_with_one_token_give_one_instance(account: Account) -> None:
    for _ in range(5):
        token = account.new_token()
        with ThreadPoolExecutor(RACERS) as racers:
            launched = list(racers.map(lambda _, token=token: account.run(token), range(RACERS)))
        assert len({tuple(ids) for ids in launched}) == 1
        [instance] = launched[0]
        assert len(account.states_in_log(instance)) >= 1
        entries = [e for e in account.ec2.log() if e["kind"] == "call" and e.get("token") == token]
        assert len(entries) == RACERS
        assert len([e for e in entries if not e.get("repeat")]) == 1


def test_racing_launches_with_tokens_of_their_own_give_an_instance_each(account: Account) -> None:
    tokens = [account.new_token() for _ in range(RACERS)]
    with ThreadPoolExecutor(RACERS) as racers:
        launched = list(racers.map(account.run, tokens))
    assert len({instance for [instance] in launched}) == RACERS


def test_a_repeat_shows_the_state_of_today(account: Account) -> None:
    token = account.new_token()
    [instance] = account.run(token)
    account.ec2.wait_for_state(instance, "running")
    answer = account.api.run_instances(
        ImageId=account.image,
        InstanceType="m5.large",
        MinCount=1,
        MaxCount=1,
        ClientToken=token,
        SubnetId=account.subnets["us-east-1a"],
    )
    assert [(i["InstanceId"], i["State"]["Name"]) for i in answer["Instances"]] == [(instance, "running")]


def test_other_parameters_under_a_known_token_are_refused(account: Account) -> None:
    token = account.new_token()
    account.run(token)
    with pytest.raises(ClientError) as refused:
        account.run(token, InstanceType="m5.xlarge")
    assert code_of(refused.value) == "IdempotentParameterMismatch"


def test_the_token_of_a_terminated_instance_is_refused(account: Account) -> None:
    token = account.new_token()
    account.terminate(*account.run(token))
    with pytest.raises(ClientError) as refused:
        account.run(token)
    assert code_of(refused.value) == "IdempotentInstanceTerminated"


def test_the_token_of_a_terminated_instance_used_to_return_it(account: Account) -> None:
    account.ec2.behave(terminated_token="return")
    token = account.new_token()
    dead = account.run(token)
    account.terminate(*dead)
    assert account.run(token) == dead
    assert account.listed(InstanceIds=dead) == {dead[0]: "terminated"}


def test_a_token_with_one_living_instance_is_still_that_launch(account: Account) -> None:
    token = account.new_token()
    both = account.run(token, MinCount=2, MaxCount=2)
    account.terminate(both[0])
    assert account.run(token, MinCount=2, MaxCount=2) == both


def test_a_refused_launch_leaves_its_token_free_for_a_late_success(account: Account) -> None:
    token = account.new_token()
    account.ec2.set_capacity(0, zone="us-east-1a")
    with pytest.raises(ClientError):
        account.run(token)
    account.ec2.set_capacity(None, zone="us-east-1a")
    assert len(account.run(token)) == 1


def test_one_token_launches_again_in_another_zone(account: Account) -> None:
    token = account.new_token()
    assert account.run(token, zone="us-east-1a") != account.run(token, zone="us-east-1b")


def test_a_launch_whose_answer_is_lost_is_found_again_by_its_token(account: Account) -> None:
    token = account.new_token()
    account.ec2.fail_next("RunInstances", when="lost")
    with pytest.raises(Exception, match=r"closed|aborted|reset"):
        account.run(token)
    found = account.listed(Filters=[{"Name": "client-token", "Values": [token]}])
    assert account.run(token) == list(found)
