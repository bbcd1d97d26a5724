"""The AWS clients of the settings' region."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.app.clients import aws_client
from holdfast.autoscaler.settings import Settings

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_ec2 import EC2Client
    from types_boto3_sns import SNSClient
    from types_boto3_sqs import SQSClient
    from types_boto3_ssm import SSMClient

    from holdfast.adapters.aws.price_list import PriceList


def dynamodb_client(settings: Settings, environ: Mapping[str, str]) -> "DynamoDBClient":
    from holdfast.adapters.aws.dynamodb import make_client

    return aws_client(make_client, settings.region, environ)


def ec2_client(settings: Settings, environ: Mapping[str, str]) -> "EC2Client":
    from holdfast.adapters.aws.ec2 import make_client

    return aws_client(make_client, settings.region, environ)


def price_list(settings: Settings, environ: Mapping[str, str], ec2: "EC2Client") -> "PriceList | None":
    """Of on-demand prices in the region of `ec2`; None: the settings' own are all that is known."""
    if settings.on_demand_prices == "settings":
        return None
    from holdfast.adapters.aws.price_list import PriceList, make_client
    from holdfast.adapters.clock import SystemClock

    region = ec2.meta.region_name
    return PriceList(lambda: aws_client(make_client, region, environ), region, SystemClock().now_s)


def sns_client(settings: Settings, environ: Mapping[str, str]) -> "SNSClient":
    from holdfast.adapters.aws.sns import make_client

    return aws_client(make_client, settings.region, environ)


def sqs_client(settings: Settings, environ: Mapping[str, str]) -> "SQSClient":
    from holdfast.adapters.aws.sqs import make_client

    return aws_client(make_client, settings.region, environ)


def ssm_client(settings: Settings, environ: Mapping[str, str]) -> "SSMClient":
    from holdfast.adapters.aws.ssm import make_client

    return aws_client(make_client, settings.region, environ)
