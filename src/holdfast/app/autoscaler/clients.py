"""The AWS clients of the settings' region."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from holdfast.autoscaler.settings import Settings
from holdfast.kernel import Invalid

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_ec2 import EC2Client
    from types_boto3_ssm import SSMClient

Client = TypeVar("Client")


def dynamodb_client(settings: Settings, environ: Mapping[str, str]) -> "DynamoDBClient":
    from holdfast.adapters.aws.dynamodb import make_client

    return made(make_client, settings, environ)


def ec2_client(settings: Settings, environ: Mapping[str, str]) -> "EC2Client":
    from holdfast.adapters.aws.ec2 import make_client

    return made(make_client, settings, environ)


def ssm_client(settings: Settings, environ: Mapping[str, str]) -> "SSMClient":
    from holdfast.adapters.aws.ssm import make_client

    return made(make_client, settings, environ)


def made(make: Callable[..., Client], settings: Settings, environ: Mapping[str, str]) -> Client:
    """A client in the settings' region.  boto3 itself knows AWS_DEFAULT_REGION, but not AWS_REGION."""
    try:
        from botocore.exceptions import BotoCoreError
    except ModuleNotFoundError as error:
        raise Invalid("boto3 is not installed: `pip install holdfast[aws]`") from error
    try:
        return make(region=settings.region or environ.get("AWS_REGION") or None)
    except (BotoCoreError, ValueError) as error:
        fix = "set region, AWS_REGION, AWS_PROFILE or AWS_ENDPOINT_URL right"
        raise Invalid(f"AWS cannot be asked: {error} ({fix})") from error
