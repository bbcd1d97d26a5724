"""Every pair of role and move is a row of the table, or a refusal that changes nothing."""

import itertools

import pytest

from holdfast.failover.group import Group, Member, Takeover
from holdfast.failover.roles import MOVES, IllegalMove, Move, Role


@pytest.mark.parametrize(("role", "move"), list(itertools.product(Role, Move)))
def test_every_pair_is_a_row_or_a_refusal(role: Role, move: Move) -> None:
    group = Group(agent_id="a", members=(Member("i-1", role),))
    if (role, move) in MOVES:
        after = group.move("i-1", move).member("i-1")
        assert after is not None
        assert after.role is MOVES[role, move]
    else:
        with pytest.raises(IllegalMove, match=f"i-1: {role.name} has no move on {move.name}"):
            group.move("i-1", move)


def test_nothing_leaves_terminated() -> None:
    assert not [move for role, move in MOVES if role is Role.TERMINATED]


def test_two_primaries_cannot_be_written_down() -> None:
    with pytest.raises(ValueError, match="two primaries"):
        Group(agent_id="a", members=(Member("i-1", Role.PRIMARY), Member("i-2", Role.PRIMARY)))


def test_no_instance_is_primary_in_the_middle_of_a_takeover() -> None:
    with pytest.raises(ValueError, match="in the middle of a takeover"):
        Group(agent_id="a", members=(Member("i-1", Role.PRIMARY),), takeover=Takeover("i-2", "notice", 0.0))
