"""The queue to which EventBridge sends EC2's notices, for a process that takes them itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from holdfast.adapters.aws import client as aws
from holdfast.adapters.aws.errors import translate_errors

if TYPE_CHECKING:
    from types_boto3_sqs import SQSClient

RECEIVE, DELETE, LOOK = "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"
CALLS: Final = (RECEIVE, DELETE, LOOK)
"""Each can be granted for one queue."""
LONG_POLL_S: Final = 20
"""The longest that SQS waits for a message."""
MOST: Final = 10
"""The most that it gives at once."""
HIDDEN_S: Final = 30
"""A message that was not deleted by then comes again: a notice has two minutes."""
WAITING: Final = "ApproximateNumberOfMessages"


def make_client(*, endpoint_url: str | None = None, region: str | None = None) -> "SQSClient":
    """A client that shows every refusal instead of trying again, and outwaits a long poll."""
    made: SQSClient = aws.make_client(
        "sqs", endpoint_url=endpoint_url, region=region, read_timeout_s=LONG_POLL_S + 10
    )
    return made


@dataclass(frozen=True)
class NoticeQueue:
    client: "SQSClient"
    url: str

    def receive(self, wait_s: int = LONG_POLL_S) -> Sequence[dict[str, Any]]:
        """Messages as Lambda would bring them, hidden from others for a while.  Waits for the first one.

        Repeatable: what is not deleted comes again.  Raises Busy, Unknown or Denied.
        """
        with translate_errors(RECEIVE, changes=False):
            found = self.client.receive_message(
                QueueUrl=self.url,
                MaxNumberOfMessages=MOST,
                WaitTimeSeconds=wait_s,
                VisibilityTimeout=HIDDEN_S,
            )
        return [
            {
                "messageId": message.get("MessageId", ""),
                "receiptHandle": message.get("ReceiptHandle", ""),
                "eventSource": "aws:sqs",
                "body": message.get("Body", ""),
            }
            for message in found.get("Messages", [])
        ]

    def delete(self, messages: Sequence[dict[str, Any]]) -> None:
        """They were kept elsewhere.  Twice is once; one that is left comes again, and changes nothing."""
        for message in messages:
            with translate_errors(DELETE, changes=True):
                self.client.delete_message(QueueUrl=self.url, ReceiptHandle=message["receiptHandle"])

    def waiting(self) -> int:
        """About how many messages wait.  Repeatable."""
        with translate_errors(LOOK, changes=False):
            found = self.client.get_queue_attributes(QueueUrl=self.url, AttributeNames=[WAITING])
        return int(found["Attributes"][WAITING])
