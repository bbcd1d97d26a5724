"""What is asked of SNS, and what its answers mean."""

from typing import Any

import pytest
from botocore.stub import Stubber

from holdfast.adapters.aws import sns
from holdfast.adapters.aws.errors import Rejected
from holdfast.kernel import Busy

TOPIC = "arn:aws:sns:eu-central-1:123456789012:alerts"


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    client = sns.make_client(region="eu-central-1")
    with Stubber(client) as stubber:
        yield client, stubber


def send(client: Any, topic: str = TOPIC) -> None:
    sns.publish(client, topic, subject="Over: x", text="it is over", message_id="msg_1", group="shop")


def test_a_message_has_a_subject_a_text_and_its_id(stub: Any) -> None:
    client, stubber = stub
    expected = {
        "TopicArn": TOPIC,
        "Subject": "Over: x",
        "Message": "it is over",
        "MessageAttributes": {"id": {"DataType": "String", "StringValue": "msg_1"}},
    }
    stubber.add_response("publish", {"MessageId": "1"}, expected)
    send(client)
    fifo = {
        **expected,
        "TopicArn": f"{TOPIC}.fifo",
        "MessageGroupId": "shop",
        "MessageDeduplicationId": "msg_1",
    }
    stubber.add_response("publish", {"MessageId": "1"}, fifo)
    send(client, f"{TOPIC}.fifo")
    stubber.assert_no_pending_responses()


def test_a_missing_grant_is_named_and_a_throttled_call_comes_again(stub: Any) -> None:
    client, stubber = stub
    stubber.add_client_error("publish", "AuthorizationError", "not allowed", 403)
    with pytest.raises(Rejected, match=r"sns:Publish.*grant the role this action on the topic"):
        send(client)
    stubber.add_client_error("publish", "Throttled", "slow down", 429)
    with pytest.raises(Busy):
        send(client)
