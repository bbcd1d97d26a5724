"""Secrets out of the Parameter Store: read when they are needed, never shown."""

from typing import TYPE_CHECKING, Final

from holdfast.adapters.aws import client as aws
from holdfast.adapters.aws.errors import GRANT, Denied, Rejected, translate_errors
from holdfast.kernel import Invalid

if TYPE_CHECKING:
    from types_boto3_ssm import SSMClient

GET: Final = "ssm:GetParameter"
CALLS: Final = (GET, "kms:Decrypt")
"""Both can be granted for one parameter and one key.  The second is needed for a key of the user's own."""


class NoParameter(Invalid):
    """There is no such parameter."""


def make_client(*, endpoint_url: str | None = None, region: str | None = None) -> "SSMClient":
    """A client that shows every refusal instead of trying again."""
    made: SSMClient = aws.make_client("ssm", endpoint_url=endpoint_url, region=region)
    return made


def parameter(client: "SSMClient", name: str) -> str:
    """The decrypted value.  Repeatable.  Raises NoParameter, Denied or Busy; no message has the value."""
    try:
        with translate_errors(GET, changes=False):
            return client.get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"]
    except Denied as error:
        where = f"parameter/{name.removeprefix('/')}"
        fix = (
            f"{GRANT} on {where}: {GET}, and kms:Decrypt on its key" if error.is_missing_grant else error.fix
        )
        raise Denied(GET, f"{name}: {error.message}", fix) from error
    except Rejected as error:
        if error.code in ("ParameterNotFound", "ParameterVersionNotFound"):
            raise NoParameter(
                f"{GET}: there is no parameter {name} in this region "
                f"(create it: `aws ssm put-parameter --type SecureString --name {name} --value …`)"
            ) from error
        raise
