"""What DynamoDB's answers mean for a guarded write: done, not done, or nobody can say."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from holdfast.kernel import Busy, HoldfastError, Invalid, Unknown

NOT_WRITTEN = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TransactionConflict",
        "TransactionConflictException",
        "LimitExceededException",
    }
)
"""Nothing was written and nobody won."""

FIXES: Mapping[str, str] = {
    "ResourceNotFoundException": "create the table, as deploy/aws-sam or the option --create-tables does",
    "AccessDeniedException": "grant the role this action on this table",
    "UnrecognizedClientException": "check the credentials and the region",
    "InvalidSignatureException": "check the credentials and the clock of this machine",
    "ExpiredTokenException": "renew the credentials",
    "ValidationException": "the request itself is wrong; this is a defect",
    "ValidationError": "the request itself is wrong; this is a defect",
    "ItemCollectionSizeLimitExceeded": "shorten what is stored under this key",
}
"""Certainly not written, and trying again will not help."""


def meaning_of(code: str, message: str) -> HoldfastError:
    """The error to raise for a code that is not a failed condition."""
    if code in NOT_WRITTEN:
        return Busy(f"{code}: {message}")
    if code in FIXES:
        return Invalid(f"{code}: {message} ({FIXES[code]})")
    # TransactionInProgress, internal errors, and whatever is invented next.
    return Unknown(f"{code}: {message}")


def failed_condition(reasons: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The first failed condition among a transaction's reasons, if that is what stopped it."""
    return next((reason for reason in reasons if reason.get("Code") == "ConditionalCheckFailed"), None)


def meaning_of_cancellation(reasons: list[dict[str, Any]]) -> HoldfastError:
    """What a cancelled transaction without a failed condition means: it was never written."""
    codes = [reason for reason in reasons if reason.get("Code") not in (None, "None")]
    sorted_out = [meaning_of(reason["Code"], reason.get("Message", "")) for reason in codes]
    return next((error for error in sorted_out if isinstance(error, Invalid)), None) or Busy(
        f"transaction cancelled: {', '.join(reason['Code'] for reason in codes) or 'no reason given'}"
    )


@contextmanager
def sorted_out(what: str) -> Iterator[None]:
    """Turn what botocore raises into outcomes."""
    from botocore import exceptions

    try:
        yield
    except exceptions.ClientError as error:
        known = error.response.get("Error", {})
        raise meaning_of(known.get("Code", "?"), f"{what}: {known.get('Message', '')}") from error
    except (exceptions.EndpointConnectionError, exceptions.ConnectTimeoutError) as error:
        raise Busy(f"{what}: {error}") from error  # it never left
    except exceptions.HTTPClientError as error:
        raise Unknown(f"{what}: {error}") from error
    except (
        exceptions.NoCredentialsError,
        exceptions.NoRegionError,
        exceptions.ParamValidationError,
    ) as error:
        raise Invalid(f"{what}: {error}") from error
    except exceptions.BotoCoreError as error:
        raise Unknown(f"{what}: {error}") from error
