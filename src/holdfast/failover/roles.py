"""Roles of an instance, and the only ways to move between them.

Rule 1: every legal move is a row of MOVES; code may not invent another.
Rule 2: TERMINATED states a fact about the cloud, so only an observation leads there.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from holdfast.kernel import HoldfastError


class IllegalMove(HoldfastError):
    """The table has no row for this: nothing happened."""


class Role(Enum):
    """Stored as the seeds' `instance_status`."""

    PRIMARY = "running_primary"
    REPLICA = "running_replica"
    ZOMBIE = "zombie"
    TERMINATED = "terminated"


class Move(Enum):
    PROMOTED = "promoted"
    SUPERSEDED = "superseded"
    DISCARDED = "discarded"
    CONFIRMED_GONE = "confirmed gone"


MOVES: Final[Mapping[tuple[Role, Move], Role]] = {
    (Role.REPLICA, Move.PROMOTED): Role.PRIMARY,
    (Role.REPLICA, Move.DISCARDED): Role.ZOMBIE,
    (Role.PRIMARY, Move.SUPERSEDED): Role.ZOMBIE,
    (Role.PRIMARY, Move.CONFIRMED_GONE): Role.TERMINATED,
    (Role.REPLICA, Move.CONFIRMED_GONE): Role.TERMINATED,
    (Role.ZOMBIE, Move.CONFIRMED_GONE): Role.TERMINATED,
}


def moved(instance_id: str, role: Role, move: Move) -> Role:
    try:
        return MOVES[role, move]
    except KeyError:
        raise IllegalMove(f"{instance_id}: {role.name} has no move on {move.name}") from None
