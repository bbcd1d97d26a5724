"""What AWS's answers mean, for every service alike: done, not done, or unknown."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from holdfast.kernel import Busy, HoldfastError, Invalid, Unknown

THROTTLED: Final = frozenset(
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


@dataclass(frozen=True, slots=True)
class Codes:
    """What a service's own codes mean, beside those that all services share."""

    not_done: frozenset[str] = frozenset()
    """Nothing was done, and the same request may succeed a little later."""
    rejected: frozenset[str] = frozenset()
    """A plain no, even where the status says that the server broke."""
    fixes: Mapping[str, str] = field(default_factory=dict)
    """A plain no, and what would turn it into a yes."""
    client_errors_are_final: bool = True
    """Whether any other code with a status of 400 to 499 is a plain no."""


COMMON: Final = Codes()


class Denied(Invalid):
    """AWS does not know us, or does not let us.  Certainly not done; the message has the fix."""

    def __init__(self, action: str, message: str, fix: str) -> None:
        super().__init__(f"{action}: {message} ({fix})")
        self.action, self.message, self.fix = action, message, fix

    @property
    def is_missing_grant(self) -> bool:
        """AWS knows the identity and does not allow the call: a grant is missing, nothing else is wrong."""
        return self.fix.startswith(GRANT)


class Rejected(Invalid):
    """AWS understood the request and will never do it.  Certainly not done."""

    def __init__(self, action: str, code: str, message: str, fix: str = "") -> None:
        super().__init__(f"{action}: {code}: {message}" + (f" ({fix})" if fix else ""))
        self.action, self.code, self.message = action, code, message


def error_of(
    action: str, code: str, message: str, status: int, *, changes: bool, codes: Codes = COMMON
) -> HoldfastError:
    """The error to raise for a refusal; `action` as IAM writes it, or in words with what it concerns."""
    code = code.removeprefix("Client.").removeprefix("Server.")
    if code in THROTTLED or code in codes.not_done:
        return Busy(f"{action}: {code}: {message}")
    fix = codes.fixes.get(code, "")
    if code in DENIALS:
        fix = fix or DENIALS[code]
        return Denied(action, f"{code}: {_short(message)}", f"{fix}: {action}" if fix == GRANT else fix)
    if fix or code in codes.rejected or (codes.client_errors_are_final and 400 <= status < 500):
        return Rejected(action, code, message, fix)
    return _lost(f"{action}: {code}: {message}", changes=changes)


@contextmanager
def translate_errors(action: str, *, changes: bool, codes: Codes = COMMON) -> Iterator[None]:
    """Turn what botocore raises into outcomes.  A reading call whose answer was lost changed nothing."""
    from botocore import exceptions
    from botocore.parsers import ResponseParserError

    try:
        yield
    except exceptions.ClientError as error:
        told: Any = error.response
        known, status = told.get("Error", {}), told.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code, message = known.get("Code", "?"), known.get("Message", "")
        raise error_of(action, code, message, int(status), changes=changes, codes=codes) from error
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
