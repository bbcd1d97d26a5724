"""Every answer of DynamoDB is sorted: done, not done, or nobody can say."""

from typing import Any

import pytest

from holdfast.adapters.dynamodb.meaning import failed_condition, meaning_of, meaning_of_cancellation
from holdfast.kernel import Busy, HoldfastError, Invalid, Unknown


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
        ("ResourceNotFoundException", Invalid),
        ("AccessDeniedException", Invalid),
        ("ValidationException", Invalid),
    ],
)
def test_a_code_has_one_meaning(code: str, meaning: type[HoldfastError]) -> None:
    assert type(meaning_of(code, "why")) is meaning


@pytest.mark.parametrize(
    ("codes", "meaning"),
    [
        (["None", "TransactionConflict"], Busy),
        (["ThrottlingError", "None"], Busy),
        (["ProvisionedThroughputExceeded"], Busy),
        (["None", "ValidationError"], Invalid),
        (["ItemCollectionSizeLimitExceeded", "TransactionConflict"], Invalid),
        ([], Busy),
    ],
)
def test_a_cancelled_transaction_was_never_written(codes: list[str], meaning: type[HoldfastError]) -> None:
    assert type(meaning_of_cancellation([{"Code": code} for code in codes])) is meaning


def test_a_failed_condition_is_found_among_the_reasons() -> None:
    reasons: list[dict[str, Any]] = [
        {"Code": "None"},
        {"Code": "ConditionalCheckFailed", "Item": {"version": {"N": "4"}}},
    ]

    assert failed_condition(reasons) == reasons[1]
    assert failed_condition([{"Code": "TransactionConflict"}]) is None


def test_a_refusal_that_waiting_does_not_mend_names_the_fix() -> None:
    assert "create the table" in str(meaning_of("ResourceNotFoundException", "no such table"))
