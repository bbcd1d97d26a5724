"""States change in their time, and everything that happens is told and written down."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.real.account import Account
from tests.real.traces import HANG_S, wait_until
from tools.parts.ec2.events import INTERRUPTION, REBALANCE, STATE_CHANGE
from tools.parts.imds.client import Refused, get, open_session


def told_of(account: Account, instance_id: str) -> list[dict[str, Any]]:
    return [event for event in account.ec2.events() if event["detail"]["instance-id"] == instance_id]


def test_a_life_is_told_state_by_state_in_the_words_of_eventbridge(account: Account) -> None:
    [instance] = account.run()
    account.ec2.wait_for_state(instance, "running")
    account.terminate(instance)
    told = told_of(account, instance)
    states = [event["detail"]["state"] for event in told]
    assert states == ["pending", "running", "shutting-down", "terminated"]
    assert {key: told[0][key] for key in told[0] if key not in ("id", "time")} == {
        "version": "0",
        "detail-type": STATE_CHANGE,
        "source": "aws.ec2",
        "account": "123456789012",
        "region": "us-east-1",
        "resources": [f"arn:aws:ec2:us-east-1:123456789012:instance/{instance}"],
        "detail": {"instance-id": instance, "state": "pending"},
    }
    assert len({event["id"] for event in told}) == len(told)


def test_an_instance_is_pending_until_its_boot_delay_is_over(account: Account) -> None:
    account.ec2.behave(boot_delay_s=[5.0, 5.0])
    [instance] = account.run()
    assert account.listed()[instance] == "pending"
    account.ec2.wait_for_state(instance, "running")
    moments = moments_of(account, instance)
    assert moments["running"] - moments["pending"] >= 5.0


def moments_of(account: Account, instance_id: str) -> dict[str, float]:
    """When it entered each state."""
    entries = account.ec2.log()
    return {e["state"]: e["at_s"] for e in entries if e["kind"] == "state" and e["instance"] == instance_id}


def test_an_answer_may_come_long_after_what_was_asked_for_was_done(account: Account) -> None:
    account.ec2.behave(answer_delay_s=[1.0, 1.0])
    [instance] = account.run()
    assert time.time() - moments_of(account, instance)["pending"] >= 1.0


def test_terminating_twice_is_terminating_once(account: Account) -> None:
    [instance] = account.run()
    account.ec2.wait_for_state(instance, "running")
    account.terminate(instance)
    [again] = account.api.terminate_instances(InstanceIds=[instance])["TerminatingInstances"]
    assert (again["PreviousState"]["Name"], again["CurrentState"]["Name"]) == ("terminated", "terminated")
    assert account.states_in_log(instance) == ["pending", "running", "shutting-down", "terminated"]


def test_an_instance_can_be_stopped_and_started(account: Account) -> None:
    [instance] = account.run()
    account.ec2.wait_for_state(instance, "running")
    account.api.stop_instances(InstanceIds=[instance])
    account.ec2.wait_for_state(instance, "stopped")
    account.api.start_instances(InstanceIds=[instance])
    account.ec2.wait_for_state(instance, "running")
    assert account.states_in_log(instance) == [
        "pending", "running", "stopping", "stopped", "pending", "running",
    ]  # fmt: skip


def test_a_spot_interruption_is_told_and_stands_in_the_metadata_with_one_fixed_time(
    account: Account,
) -> None:
    instance = account.run_spot()
    account.ec2.wait_for_state(instance, "running")
    metadata = account.ec2.imds(instance)
    session = open_session(metadata)
    assert get(metadata, "meta-data/spot/instance-action", session)[0] == 404
    at = account.ec2.interrupt(instance, in_s=1.5)
    [warning] = [event for event in told_of(account, instance) if event["detail-type"] == INTERRUPTION]
    assert warning["detail"] == {"instance-id": instance, "instance-action": "terminate"}
    assert get(metadata, "meta-data/spot/instance-action")[0] == 401
    for _ in range(3):
        status, said = get(metadata, "meta-data/spot/instance-action", session)
        assert (status, json.loads(said)) == (200, {"action": "terminate", "time": at})
    assert account.ec2.instance(instance)["state"] == "running", "the notice is not the act"
    account.ec2.wait_for_state(instance, "terminated")
    listed = account.api.describe_instances(InstanceIds=[instance])["Reservations"][0]["Instances"][0]
    assert listed["StateReason"]["Code"] == "Server.SpotInstanceTermination"


def test_a_rebalance_recommendation_is_told_and_stands_in_the_metadata(account: Account) -> None:
    instance = account.run_spot()
    metadata = account.ec2.imds(instance)
    session = open_session(metadata)
    assert get(metadata, "meta-data/events/recommendations/rebalance", session)[0] == 404
    at = account.ec2.rebalance(instance)
    status, said = get(metadata, "meta-data/events/recommendations/rebalance", session)
    assert (status, json.loads(said)) == (200, {"noticeTime": at})
    [hint] = [event for event in told_of(account, instance) if event["detail-type"] == REBALANCE]
    assert hint["detail"] == {"instance-id": instance}


def test_only_spot_instances_get_notices(account: Account) -> None:
    [instance] = account.run()
    with pytest.raises(Refused, match="only spot instances"):
        account.ec2.interrupt(instance)


def test_an_instance_can_fail_without_a_warning(account: Account) -> None:
    instance = account.run_spot()
    account.ec2.wait_for_state(instance, "running")
    account.ec2.fail(instance)
    account.ec2.wait_for_state(instance, "terminated")
    assert {event["detail-type"] for event in told_of(account, instance)} == {STATE_CHANGE}


def test_events_arrive_on_a_queue(account: Account) -> None:
    sqs = account.client("sqs")
    queue = sqs.create_queue(QueueName="interruptions")["QueueUrl"]
    account.ec2.deliver_to(queue)
    instance = account.run_spot()
    account.ec2.interrupt(instance)
    received: list[dict[str, Any]] = []

    def collected() -> bool:
        answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=2)
        received.extend(json.loads(message["Body"]) for message in answer.get("Messages", []))
        return any(event["detail-type"] == INTERRUPTION for event in received)

    wait_until(collected, "the warning is on the queue")
    assert received == told_of(account, instance)[: len(received)]


def test_waiting_for_messages_holds_up_no_other_client(account: Account) -> None:
    sqs = account.client("sqs")
    queue = sqs.create_queue(QueueName="empty")["QueueUrl"]
    with ThreadPoolExecutor(1) as reader:
        waiting = reader.submit(sqs.receive_message, QueueUrl=queue, WaitTimeSeconds=20)
        account.run()
        assert not waiting.done()
        sqs.send_message(QueueUrl=queue, MessageBody="at last")
        assert [message["Body"] for message in waiting.result(timeout=HANG_S)["Messages"]] == ["at last"]


def test_the_log_accounts_for_every_launch_and_termination(account: Account) -> None:
    read = len(account.ec2.log())
    token = account.new_token()
    three = account.run(token, MinCount=3, MaxCount=3)
    account.run(token, MinCount=3, MaxCount=3)
    account.terminate(three[0], three[1])
    entries = account.ec2.log(after=read)
    calls = [entry for entry in entries if entry["kind"] == "call"]
    launches = [call for call in calls if call["action"] == "RunInstances"]
    assert [(call["outcome"], call["instances"], bool(call.get("repeat"))) for call in launches] == [
        ("ok", three, False),
        ("ok", three, True),
    ]
    states = [e for e in entries if e["kind"] == "state" and e["instance"] in three]
    born = [e["instance"] for e in states if e["state"] == "pending"]
    died = [e["instance"] for e in states if e["state"] == "terminated"]
    assert (born, sorted(died)) == (three, sorted(three[:2]))
    [termination] = [call for call in calls if call["action"] == "TerminateInstances"]
    assert (termination["outcome"], termination["instances"]) == ("ok", three[:2])
    in_file = [json.loads(line) for line in account.ec2.log_file.read_text().splitlines()]
    assert in_file[read : read + len(entries)] == entries


def test_a_refused_call_is_in_the_log_with_its_code(account: Account) -> None:
    account.ec2.set_capacity(0)
    with pytest.raises(Exception, match="InsufficientInstanceCapacity"):
        account.run()
    last = account.ec2.log()[-1]
    assert (last["action"], last["outcome"]) == ("RunInstances", "InsufficientInstanceCapacity")
    assert "instances" not in last


def test_a_fault_after_the_act_leaves_the_act_done(account: Account) -> None:
    [instance] = account.run()
    account.ec2.fail_next("TerminateInstances", when="after")
    with pytest.raises(Exception, match="InternalError"):
        account.api.terminate_instances(InstanceIds=[instance])
    account.ec2.wait_for_state(instance, "terminated")
