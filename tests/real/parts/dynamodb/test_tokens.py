"""What a request token of a transaction does, and why it has to be drawn."""

import uuid

import pytest
from botocore.exceptions import ClientError

from tests.real.parts.dynamodb.racing import DONE, RACERS, RECORD, Table, outcome_of, race, winners


def drawn() -> str:
    return str(uuid.uuid4())


def derived_from(content: str, table: Table) -> str:
    """What a client would send that wants equal commits to have equal tokens."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{table.name} {content}"))


def test_the_same_token_and_content_succeeds_twice_and_writes_once(table: Table) -> None:
    table.begin()
    token = drawn()
    table.commit(0, "first", token)
    once = table.record()
    table.commit(0, "first", token)
    assert table.record() == once
    assert once["written"] == {"N": "1"}
    assert len(table.events()) == 1


def test_the_same_token_with_other_content_is_a_mismatch_and_writes_nothing(table: Table) -> None:
    table.begin()
    token = drawn()
    table.commit(0, "first", token)
    assert outcome_of(lambda: table.commit(1, "other", token)) == "IdempotentParameterMismatchException"
    assert table.record()["owner"] == {"S": "first"}
    assert len(table.events()) == 1


def test_another_token_with_the_same_content_is_another_commit_and_is_refused(table: Table) -> None:
    table.begin()
    table.commit(0, "first", drawn())
    assert outcome_of(lambda: table.commit(0, "first", drawn())) == "ConditionalCheckFailed"
    assert table.record()["written"] == {"N": "1"}


def test_a_cancelled_transaction_returns_the_stored_item_and_writes_none_of_its_rows(table: Table) -> None:
    table.begin()
    table.commit(0, "first", drawn())
    with pytest.raises(ClientError) as refused:
        table.commit(0, "late", drawn())
    response: dict[str, object] = dict(refused.value.response)
    reasons = response["CancellationReasons"]
    assert isinstance(reasons, list)
    assert reasons[0]["Code"] == "ConditionalCheckFailed"
    assert reasons[0]["Item"] == table.record()
    assert reasons[0]["Item"]["owner"] == {"S": "first"}
    assert [event["owner"] for event in table.events()] == [{"S": "first"}]


def test_a_refused_conditional_write_returns_the_stored_item(table: Table) -> None:
    table.begin()
    table.update(0, "first")
    with pytest.raises(ClientError) as refused:
        table.update(0, "late")
    response: dict[str, object] = dict(refused.value.response)
    assert response["Item"] == {**RECORD, "version": {"N": "1"}, "owner": {"S": "first"}}


def test_a_token_derived_from_content_lets_a_late_hand_believe_that_it_wrote(table: Table) -> None:
    """Two processes that decide alike send alike; the second is told of the first one's success."""
    table.begin()
    token = derived_from("scale up by two", table)
    assert outcome_of(lambda: table.commit(0, "any", token)) == DONE
    assert outcome_of(lambda: table.commit(0, "any", token)) == DONE
    assert table.record()["version"] == {"N": "1"}


def test_with_a_derived_token_several_of_sixteen_racers_believe_that_they_won(table: Table) -> None:
    """Here all sixteen do; one write was made.  Each would now launch the instances it decided on."""
    table.begin()
    token = derived_from("scale up by two", table)
    outcomes = race(lambda name: table.commit(0, "any", token))
    # The service may answer some with TransactionInProgress; both imitations let all of them win.
    assert len(winners(outcomes)) == RACERS
    assert table.record()["written"] == {"N": "1"}
    assert len(table.events()) == 1
