"""The client: one attempt a call, made when it is first needed."""

from typing import TYPE_CHECKING

from holdfast.adapters.aws import client as aws
from holdfast.adapters.aws.ec2.describe import read_machines_quickly

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client


def make_client(
    *, endpoint_url: str | None = None, region: str | None = None, read_timeout_s: float = aws.READ_TIMEOUT_S
) -> "EC2Client":
    """An EC2 client that shows every refusal instead of trying again, and of machines only what is read."""
    made: EC2Client = aws.make_client(
        "ec2", endpoint_url=endpoint_url, region=region, read_timeout_s=read_timeout_s
    )
    read_machines_quickly(made)
    return made
