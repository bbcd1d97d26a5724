"""DynamoDB's own codes, and the reasons of a cancelled transaction."""

from contextlib import AbstractContextManager
from typing import Any, Final

from holdfast.adapters.aws import errors
from holdfast.kernel import Busy, HoldfastError, Invalid

CODES: Final = errors.Codes(
    not_done=frozenset(
        {
            "ProvisionedThroughputExceededException",
            "ProvisionedThroughputExceeded",
            "ThrottlingError",
            "TransactionConflict",
            "TransactionConflictException",
            "LimitExceededException",
        }
    ),
    fixes={
        "ResourceNotFoundException": "create the table, as deploy/aws-sam or the option --create-tables does",
        "AccessDeniedException": f"{errors.GRANT} on this table",
        "ValidationException": "the request itself is wrong; this is a defect",
        "ValidationError": "the request itself is wrong; this is a defect",
        "ItemCollectionSizeLimitExceeded": "shorten what is stored under this key",
    },
    # TransactionInProgressException has a status of 400, and the write may have happened.
    client_errors_are_final=False,
)


def translate_errors(what: str) -> AbstractContextManager[None]:
    """Turn what botocore raises into outcomes; `what` names the table.

    A lost answer is Unknown even for a read.  Reads resolve lost answers of commits, and Busy would
    say that the commit was not written.
    """
    return errors.translate_errors(what, changes=True, codes=CODES)


def failed_condition(reasons: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The first failed condition among a transaction's reasons, if that is what stopped it."""
    return next((reason for reason in reasons if reason.get("Code") == "ConditionalCheckFailed"), None)


def cancellation_error(what: str, reasons: list[dict[str, Any]]) -> HoldfastError:
    """The error for a cancelled transaction without a failed condition: it was never written."""
    told = [(reason["Code"], reason.get("Message", "")) for reason in reasons if _stopped(reason)]
    found = [errors.error_of(what, code, message, 400, changes=True, codes=CODES) for code, message in told]
    return next((error for error in found if isinstance(error, Invalid)), None) or Busy(
        f"{what}: transaction cancelled: {', '.join(code for code, _ in told) or 'no reason given'}"
    )


def _stopped(reason: dict[str, Any]) -> bool:
    return reason.get("Code") not in (None, "None")
