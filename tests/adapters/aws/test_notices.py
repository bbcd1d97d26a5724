"""How notices are fetched: from a queue, or out of EC2's own spot requests."""

from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from holdfast.adapters.aws.ec2.spot_requests import list_marked
from holdfast.adapters.aws.errors import Denied
from holdfast.adapters.aws.sqs import HIDDEN_S, NoticeQueue
from holdfast.cloud import Notice, NoticeKind
from holdfast.kernel import Busy

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
AT_S = int(AT.timestamp())


def refused(code: str) -> ClientError:
    told = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": 403}}
    return ClientError(told, "Any")  # type: ignore[arg-type]


class Ec2:
    """Answers with these requests, in two pages."""

    def __init__(self, *requests: dict[str, Any], error: Exception | None = None) -> None:
        self.requests, self.error, self.filters = requests, error, None

    def get_paginator(self, operation: str) -> "Ec2":
        assert operation == "describe_spot_instance_requests"
        return self

    def paginate(self, **asked: Any) -> Any:
        self.filters = asked["Filters"]
        if self.error:
            raise self.error
        return [{"SpotInstanceRequests": [each]} for each in self.requests]


def request(code: str, instance_id: str = "i-1", **more: Any) -> dict[str, Any]:
    return {"InstanceId": instance_id, "Status": {"Code": code, "UpdateTime": AT}, **more}


def test_a_marked_request_is_a_notice_with_its_two_minutes_and_no_other_is() -> None:
    waiting = {"SpotInstanceRequestId": "sir-1", "Status": {"Code": "marked-for-stop", "UpdateTime": AT}}
    ec2: Any = Ec2(request("marked-for-termination"), request("fulfilled", "i-2"), waiting)

    assert list_marked(ec2) == [Notice("i-1", NoticeKind.INTERRUPTION, AT_S, AT_S + 120)]
    assert ec2.filters == [{"Name": "status-code", "Values": ["marked-for-termination", "marked-for-stop"]}]


def test_a_missing_grant_is_named() -> None:
    ec2: Any = Ec2(error=refused("UnauthorizedOperation"))
    with pytest.raises(Denied, match="ec2:DescribeSpotInstanceRequests"):
        list_marked(ec2)


class Sqs:
    def __init__(self, *bodies: str, error: Exception | None = None) -> None:
        self.bodies, self.error, self.calls = bodies, error, list[Any]()

    def receive_message(self, **asked: Any) -> Any:
        self.calls.append(asked)
        if self.error:
            raise self.error
        messages = [
            {"MessageId": f"m-{n}", "ReceiptHandle": f"r-{n}", "Body": body}
            for n, body in enumerate(self.bodies)
        ]
        return {"Messages": messages} if messages else {}

    def delete_message(self, **asked: Any) -> None:
        self.calls.append(asked["ReceiptHandle"])

    def get_queue_attributes(self, **asked: Any) -> Any:
        return {"Attributes": {"ApproximateNumberOfMessages": "3"}}


def test_messages_come_as_a_function_would_get_them_hidden_for_a_while() -> None:
    client: Any = Sqs("{}", "x")
    queue = NoticeQueue(client, "https://sqs/1/q")

    messages = queue.receive()
    queue.delete(messages)

    assert [message["body"] for message in messages] == ["{}", "x"]
    assert {message["eventSource"] for message in messages} == {"aws:sqs"}
    assert client.calls[0]["WaitTimeSeconds"] == 20
    assert client.calls[0]["VisibilityTimeout"] == HIDDEN_S < 120
    assert client.calls[1:] == ["r-0", "r-1"]
    assert queue.waiting() == 3


@pytest.mark.parametrize(("code", "raised"), [("AccessDenied", Denied), ("RequestThrottled", Busy)])
def test_a_queue_that_says_no_is_an_outcome(code: str, raised: type[Exception]) -> None:
    client: Any = Sqs(error=refused(code))
    with pytest.raises(raised):
        NoticeQueue(client, "https://sqs/1/q").receive()


def test_an_empty_queue_is_no_message() -> None:
    client: Any = Sqs()
    assert NoticeQueue(client, "https://sqs/1/q").receive() == []
