"""The client for guarded writes: see `holdfast.adapters.aws.client` for why it tries once."""

from typing import TYPE_CHECKING, Final

from holdfast.adapters.aws import client as aws

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

READ_TIMEOUT_S: Final = 8


def make_client(
    *, endpoint_url: str | None = None, region: str | None = None, read_timeout_s: float = READ_TIMEOUT_S
) -> "DynamoDBClient":
    made: DynamoDBClient = aws.make_client(
        "dynamodb", endpoint_url=endpoint_url, region=region, read_timeout_s=read_timeout_s
    )
    return made
