"""Clients of AWS in a region that settings or the environment name, for every part alike."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from holdfast.kernel import Invalid

Client = TypeVar("Client")


def aws_client(make: Callable[..., Client], region: str, environ: Mapping[str, str]) -> Client:
    """A client in this region.  boto3 itself knows AWS_DEFAULT_REGION, but not AWS_REGION."""
    try:
        from botocore.exceptions import BotoCoreError
    except ModuleNotFoundError as error:
        raise Invalid("boto3 is not installed: `pip install holdfast[aws]`") from error
    try:
        return make(region=region or environ.get("AWS_REGION") or None)
    except (BotoCoreError, ValueError) as error:
        fix = "set region, AWS_REGION, AWS_PROFILE or AWS_ENDPOINT_URL right"
        raise Invalid(f"AWS cannot be asked: {error} ({fix})") from error
