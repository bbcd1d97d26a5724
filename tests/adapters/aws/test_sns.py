"""What is published to a topic of SNS."""

from typing import Any, cast

import pytest

from holdfast.adapters.aws.sns import publish

TOPIC = "arn:aws:sns:eu-central-1:123456789012:alerts"


class Published:
    def __init__(self) -> None:
        self.said: dict[str, Any] = {}

    def publish(self, **said: Any) -> None:
        self.said = said


@pytest.mark.parametrize(
    ("topic", "ordered"),
    [
        (TOPIC, {}),
        (f"{TOPIC}.fifo", {"MessageGroupId": "shop", "MessageDeduplicationId": "msg_1"}),
    ],
)
def test_only_an_ordered_topic_is_told_the_group_and_the_id(topic: str, ordered: dict[str, str]) -> None:
    client = Published()

    publish(cast("Any", client), topic, subject="No capacity", text="none", message_id="msg_1", group="shop")

    assert (client.said["TopicArn"], client.said["Subject"], client.said["Message"]) == (
        topic,
        "No capacity",
        "none",
    )
    assert client.said["MessageAttributes"]["id"]["StringValue"] == "msg_1"
    assert {name: value for name, value in client.said.items() if name in ordered or "Id" in name} == ordered
