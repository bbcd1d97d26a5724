"""Every pair of status and move is a row of the table, or a refusal that changes nothing."""

import itertools

import pytest

from holdfast.failover.group import Group, Member, Takeover, after
from holdfast.failover.roles import MOVES, IllegalMove, Move, Status
from holdfast.testing.legal.group import TOLD
from tests.proof import prove
from tests.variants import broken


def member(instance_id: str, status: Status) -> Member:
    return Member(instance_id=instance_id, status=status)


def group(*members: Member, takeover: Takeover | None = None) -> Group:
    return Group(client_id="c", agent_id="a", members=members, takeover=takeover)


TAKEOVER = Takeover(old="i-1", reason="notice", code="NOTICE")


@pytest.mark.parametrize(("status", "move"), list(itertools.product(Status, Move)))
def test_every_pair_is_a_row_or_a_refusal(status: Status, move: Move) -> None:
    before = member("i-1", status)
    if (status, move) in MOVES:
        moved = after(before, move, 7.0)
        assert (moved.status, moved.since_s, moved.version) == (MOVES[status, move], 7.0, 1)
    else:
        with pytest.raises(IllegalMove, match=f"i-1: {status.name} has no move on {move.name}"):
            after(before, move, 7.0)


def test_nothing_leaves_terminated_and_only_an_observation_leads_there() -> None:
    assert not [move for status, move in MOVES if status is Status.TERMINATED]
    assert {move for (_, move), then in MOVES.items() if then is Status.TERMINATED} == {Move.CONFIRMED_GONE}


def test_every_status_in_between_has_an_exit() -> None:
    between = set(Status) - {Status.TERMINATED}
    assert between == {status for status, _ in MOVES}


def test_what_is_condemned_is_never_taken_back() -> None:
    assert {then for (status, _), then in MOVES.items() if status is Status.TERMINATING} == {
        Status.TERMINATED
    }


def test_every_move_is_told() -> None:
    assert set(TOLD) == set(Move)


@pytest.mark.parametrize("statuses", list(itertools.product(Status, Status)))
def test_two_primaries_cannot_be_written_down(statuses: tuple[Status, Status]) -> None:
    members = [member(f"i-{n}", status) for n, status in enumerate(statuses)]
    if sum(status.is_primary for status in statuses) > 1:
        with pytest.raises(ValueError, match="two primaries"):
            group(*members)


def test_s6_a_record_that_takes_two_primaries_is_caught() -> None:
    careless = broken("holdfast.failover.group", {"        if len(primaries) > 1:\n": "        if False:\n"})
    members = (member("i-1", Status.PRIMARY), member("i-2", Status.PRIMARY))
    with pytest.raises(ValueError, match="two primaries"):
        group(*members)
    careless.Group(client_id="acme", agent_id="db", members=members)
    prove("variant", "S6: two primaries can be written down", caught_by="every pair of statuses")


@pytest.mark.parametrize(
    ("members", "takeover", "said"),
    [
        ((member("i-1", Status.PRIMARY),), TAKEOVER, "in the middle of a takeover"),
        ((member("i-1", Status.PROMOTING),), None, "is promoting"),
        ((member("i-1", Status.PROMOTING),), TAKEOVER, "is promoting"),
        ((member("i-1", Status.DEMOTING),), None, "outside of a takeover"),
        ((member("i-1", Status.TERMINATED),), None, "still in the record"),
        ((member("i-1", Status.REPLICA), member("i-1", Status.ZOMBIE)), None, "stands twice"),
    ],
)
def test_what_makes_no_sense_cannot_be_written_down(
    members: tuple[Member, ...], takeover: Takeover | None, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        group(*members, takeover=takeover)
