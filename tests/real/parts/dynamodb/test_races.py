"""A conditional write on one record is all the mutual exclusion that the product has."""

import uuid
from collections import Counter
from functools import partial

from tests.real.parts.dynamodb.racing import RACERS, Table, race, winners

ROUNDS = 25
LOSERS = RACERS - 1


def commit_with_a_drawn_token(table: Table, expected: int, name: str) -> None:
    table.commit(expected, name, str(uuid.uuid4()))


def test_exactly_one_of_sixteen_creations_wins(table: Table) -> None:
    outcomes = race(table.create)
    [winner] = winners(outcomes)
    assert Counter(outcomes.values())["ConditionalCheckFailedException"] == LOSERS
    assert table.record()["owner"] == {"S": winner}


def test_exactly_one_of_sixteen_conditional_writes_wins_every_round(table: Table) -> None:
    table.begin()
    for version in range(ROUNDS):
        outcomes = race(partial(table.update, version))
        [winner] = winners(outcomes)
        assert Counter(outcomes.values())["ConditionalCheckFailedException"] == LOSERS
        assert table.record()["owner"] == {"S": winner}
    assert table.record()["version"] == {"N": str(ROUNDS)}


def test_exactly_one_of_sixteen_transactions_wins_and_the_event_is_the_winners(table: Table) -> None:
    table.begin()
    won = []
    for version in range(ROUNDS):
        outcomes = race(partial(commit_with_a_drawn_token, table, version))
        [winner] = winners(outcomes)
        won.append(winner)
        refused = Counter(outcomes.values())
        # The service may also say that a transaction met another one; no write is lost by that.
        assert refused["ConditionalCheckFailed"] + refused["TransactionConflict"] == LOSERS, refused
        assert table.record()["owner"] == {"S": winner}
    assert [event["owner"]["S"] for event in table.events()] == won
    assert table.record()["written"] == {"N": str(ROUNDS)}


def test_without_the_condition_writes_are_lost_so_the_races_above_are_races(table: Table) -> None:
    table.begin()

    def read_then_write(name: str) -> None:
        version = int(table.record()["version"]["N"])
        table.overwrite(version + 1, name)

    outcomes = race(read_then_write)
    assert len(winners(outcomes)) == RACERS
    assert int(table.record()["version"]["N"]) < RACERS
