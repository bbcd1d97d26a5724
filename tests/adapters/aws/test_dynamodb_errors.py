"""Every answer of DynamoDB is sorted: done, not done, or unknown."""

from typing import Any

import pytest

from holdfast.adapters.aws.dynamodb.errors import CODES, cancellation_error, failed_condition
from holdfast.adapters.aws.errors import Denied, Rejected, error_of
from holdfast.kernel import Busy, HoldfastError, Unknown


def meaning_of(code: str, status: int = 400) -> HoldfastError:
    return error_of("read t", code, "why", status, changes=True, codes=CODES)


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        ("ThrottlingException", Busy),
        ("ProvisionedThroughputExceededException", Busy),
        ("RequestLimitExceeded", Busy),
        ("TransactionConflictException", Busy),
        ("TransactionInProgressException", Unknown),
        ("InternalServerError", Unknown),
        ("IdempotentParameterMismatchException", Unknown),
        ("SomethingInventedTomorrow", Unknown),
        ("ResourceNotFoundException", Rejected),
        ("AccessDeniedException", Denied),
        ("ValidationException", Rejected),
    ],
)
def test_a_code_has_one_meaning(code: str, meaning: type[HoldfastError]) -> None:
    assert type(meaning_of(code)) is meaning


@pytest.mark.parametrize(
    ("codes", "meaning"),
    [
        (["None", "TransactionConflict"], Busy),
        (["ThrottlingError", "None"], Busy),
        (["ProvisionedThroughputExceeded"], Busy),
        (["None", "ValidationError"], Rejected),
        (["ItemCollectionSizeLimitExceeded", "TransactionConflict"], Rejected),
        ([], Busy),
    ],
)
def test_a_cancelled_transaction_was_never_written(codes: list[str], meaning: type[HoldfastError]) -> None:
    assert type(cancellation_error("commit t", [{"Code": code} for code in codes])) is meaning


def test_a_failed_condition_is_found_among_the_reasons() -> None:
    reasons: list[dict[str, Any]] = [
        {"Code": "None"},
        {"Code": "ConditionalCheckFailed", "Item": {"version": {"N": "4"}}},
    ]

    assert failed_condition(reasons) == reasons[1]
    assert failed_condition([{"Code": "TransactionConflict"}]) is None


def test_a_refusal_that_waiting_does_not_mend_names_the_fix() -> None:
    assert "create the table" in str(meaning_of("ResourceNotFoundException"))
