"""The client: one attempt a call, because a retry that we do not see looks like a lost race.

botocore retries DynamoDB ten times by default.  If the answer to a guarded write is
lost, its second attempt meets our own first one and reports a failed condition.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

CONNECT_TIMEOUT_S = 3
READ_TIMEOUT_S = 8


def make_client(
    *, endpoint_url: str | None = None, region: str | None = None, read_timeout_s: float = READ_TIMEOUT_S
) -> "DynamoDBClient":
    """A DynamoDB client for guarded writes."""
    import boto3
    from botocore.config import Config

    config = Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=read_timeout_s,
    )
    return boto3.client("dynamodb", endpoint_url=endpoint_url, region_name=region, config=config)
