"""A topic of SNS, to which messages for operators are published."""

from typing import TYPE_CHECKING, Any, Final

from holdfast.adapters.aws import client as aws
from holdfast.adapters.aws.errors import GRANT, Codes, translate_errors

if TYPE_CHECKING:
    from types_boto3_sns import SNSClient

PUBLISH: Final = "sns:Publish"
CALLS: Final = (PUBLISH,)
"""It can be granted for one topic."""
READ_TIMEOUT_S: Final = 5.0
CODES: Final = Codes(
    not_done=frozenset({"Throttled", "KMSThrottling"}),
    fixes={
        "AuthorizationError": f"{GRANT} on the topic",
        "NotFound": "check notify_sns_topic_arn",
    },
)
FIFO: Final = ".fifo"


def make_client(*, endpoint_url: str | None = None, region: str | None = None) -> "SNSClient":
    """A client that shows every refusal instead of trying again."""
    made: SNSClient = aws.make_client(
        "sns", endpoint_url=endpoint_url, region=region, read_timeout_s=READ_TIMEOUT_S
    )
    return made


def publish(
    client: "SNSClient", topic_arn: str, *, subject: str, text: str, message_id: str, group: str
) -> None:
    """Twice is two messages, but on a FIFO topic, which knows the id for five minutes.

    Raises Busy, Unknown, Denied or Rejected.
    """
    ordered: Any = (
        {"MessageGroupId": group, "MessageDeduplicationId": message_id} if topic_arn.endswith(FIFO) else {}
    )
    with translate_errors(PUBLISH, changes=True, codes=CODES):
        client.publish(
            TopicArn=topic_arn,
            Subject=subject,
            Message=text,
            MessageAttributes={"id": {"DataType": "String", "StringValue": message_id}},
            **ordered,
        )
