"""What AWS's answers mean, whichever service gives them: done, not done, or nobody can say.

One attempt a call, for the reason that `dynamodb.client` tells: a retry that we do not see
hides what happened to the first try.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from holdfast.kernel import Busy, HoldfastError, Invalid, Unknown

CONNECT_TIMEOUT_S: Final = 3
READ_TIMEOUT_S: Final = 20
"""A launch of many takes longer than a write to a table."""

NOT_DONE: Final = frozenset(
    {
        "RequestLimitExceeded",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "EC2ThrottledException",
        "TooManyRequestsException",
        "TooManyUpdates",
        "RequestThrottled",
        "ConcurrentTagAccess",
    }
)
"""Asked too often: nothing was done."""

GRANT: Final = "grant the role this action"
DENIALS: Final[Mapping[str, str]] = {
    "UnauthorizedOperation": GRANT,
    "AccessDenied": GRANT,
    "AccessDeniedException": GRANT,
    "AuthFailure": "check the credentials, the region, and the clock of this machine",
    "AuthFailure.ServiceLinkedRoleCreationNotPermitted": (
        "create the role of the spot service once: "
        "`aws iam create-service-linked-role --aws-service-name spot.amazonaws.com`"
    ),
    "OptInRequired": "enable this service or region for the account",
    "Blocked": "the account is blocked: ask AWS support",
    "PendingVerification": "AWS still verifies the account: wait, or ask AWS support",
    "ExpiredToken": "renew the credentials",
    "ExpiredTokenException": "renew the credentials",
    "RequestExpired": "set the clock of this machine, and renew the credentials",
    "InvalidClientTokenId": "check the credentials and the region",
    "UnrecognizedClientException": "check the credentials and the region",
    "InvalidSignatureException": "check the credentials and the clock of this machine",
    "SignatureDoesNotMatch": "check the credentials and the clock of this machine",
    "MissingAuthenticationToken": "give this process credentials",
}

SHOWN: Final = 300
ENCODED: Final = "Encoded authorization failure message"
"""What follows is thousands of characters that only another call can read."""


class Denied(Invalid):
    """AWS does not know us, or does not let us.  Certainly not done; the message has the fix."""

    def __init__(self, action: str, message: str, fix: str) -> None:
        super().__init__(f"{action}: {message} ({fix})")
        self.action, self.message, self.fix = action, message, fix

    @property
    def is_missing_grant(self) -> bool:
        """Known, and not allowed: nothing is wrong with who asks."""
        return self.fix.startswith(GRANT)


class Rejected(Invalid):
    """AWS understood the request and will never do it.  Certainly not done."""

    def __init__(self, action: str, code: str, message: str) -> None:
        super().__init__(f"{action}: {code}: {message}")
        self.action, self.code, self.message = action, code, message


def make_client(
    service: str,
    *,
    endpoint_url: str | None = None,
    region: str | None = None,
    read_timeout_s: float = READ_TIMEOUT_S,
) -> Any:
    """A low-level client of a service that tries each call once."""
    import boto3
    from botocore.config import Config

    config = Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=read_timeout_s,
    )
    make: Any = boto3.client  # its type knows only services that are named in so many words
    return make(service, endpoint_url=endpoint_url, region_name=region or None, config=config)


def meaning_of(
    action: str,
    code: str,
    message: str,
    status: int,
    *,
    changes: bool,
    certain: frozenset[str] = frozenset(),
) -> HoldfastError:
    """The error to raise for a refusal; `action` as IAM writes it: `ec2:RunInstances`.

    `certain`: codes that are a plain no, even where the status says that the server broke.
    """
    code = code.removeprefix("Client.").removeprefix("Server.")
    if code in NOT_DONE:
        return Busy(f"{action}: {code}: {message}")
    if code in DENIALS:
        fix = DENIALS[code]
        return Denied(action, f"{code}: {_short(message)}", f"{fix}: {action}" if fix == GRANT else fix)
    if code in certain or 400 <= status < 500:
        return Rejected(action, code, message)
    return _lost(f"{action}: {code}: {message}", changes=changes)


@contextmanager
def sorted_out(action: str, *, changes: bool, certain: frozenset[str] = frozenset()) -> Iterator[None]:
    """Turn what botocore raises into outcomes.  A reading call whose answer was lost changed nothing."""
    from botocore import exceptions
    from botocore.parsers import ResponseParserError

    try:
        yield
    except exceptions.ClientError as error:
        told: Any = error.response
        known, status = told.get("Error", {}), told.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code, message = known.get("Code", "?"), known.get("Message", "")
        raise meaning_of(action, code, message, int(status), changes=changes, certain=certain) from error
    except (
        exceptions.EndpointConnectionError,
        exceptions.ConnectTimeoutError,
        exceptions.ProxyConnectionError,
        exceptions.CredentialRetrievalError,
    ) as error:
        raise Busy(f"{action}: {error}") from error  # it never left
    except (
        exceptions.NoCredentialsError,
        exceptions.PartialCredentialsError,
        exceptions.NoRegionError,
        exceptions.ParamValidationError,
    ) as error:
        raise Invalid(f"{action}: {error}") from error
    except (exceptions.BotoCoreError, ResponseParserError) as error:
        raise _lost(f"{action}: {str(error)[:SHOWN]}", changes=changes) from error  # perhaps a whole page


def _lost(message: str, *, changes: bool) -> HoldfastError:
    return Unknown(message) if changes else Busy(message)


def _short(message: str) -> str:
    return message.partition(ENCODED)[0].strip()
