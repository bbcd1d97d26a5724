"""The statuses of an instance, and the only ways to move between them.

Rule 1: every legal move is a row of MOVES; code may not invent another.
Rule 2: whatever is revoked is DEMOTING first: until a successor serves, it may be reinstated.
Rule 3: TERMINATED states a fact about the cloud, so only an observation leads there, and nothing leaves it.
"""

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import Final

from holdfast.kernel import HoldfastError


class IllegalMove(HoldfastError):
    """The table has no row for this: nothing happened."""


class Status(StrEnum):
    """Stored as `instance_status`."""

    LAUNCHING = "launching"
    """The cloud has it, its agent has not registered yet."""
    REPLICA = "running_replica"
    PROMOTING = "promoting"
    """It holds the epoch and may be granted a lease; its hook has not reported yet."""
    PRIMARY = "running_primary"
    DEMOTING = "demoting"
    """Its epoch has ended; it may still be serving, until its lease is out."""
    ZOMBIE = "zombie"
    """It serves nothing any more, and is kept for inspection."""
    TERMINATING = "terminating"
    """It is condemned: ended once its time has come, and never used again."""
    TERMINATED = "terminated"

    @property
    def is_primary(self) -> bool:
        """Stored as `is_primary`: one member a group at most, and the only one that is granted a lease."""
        return self in (Status.PROMOTING, Status.PRIMARY)


class Move(Enum):
    REGISTERED = "registered"
    CHOSEN = "chosen"
    CONFIRMED = "confirmed"
    REVOKED = "revoked"
    REINSTATED = "reinstated"
    FAILED = "promotion failed"
    RETIRED = "retired"
    CONDEMNED = "to be terminated"
    REVIVED = "revived by an operator"
    CONFIRMED_GONE = "confirmed gone"


MOVES: Final[Mapping[tuple[Status, Move], Status]] = {
    (Status.LAUNCHING, Move.REGISTERED): Status.REPLICA,
    (Status.LAUNCHING, Move.CONDEMNED): Status.TERMINATING,
    (Status.LAUNCHING, Move.CONFIRMED_GONE): Status.TERMINATED,
    (Status.REPLICA, Move.CHOSEN): Status.PROMOTING,
    (Status.REPLICA, Move.CONDEMNED): Status.TERMINATING,
    (Status.REPLICA, Move.CONFIRMED_GONE): Status.TERMINATED,
    (Status.PROMOTING, Move.CONFIRMED): Status.PRIMARY,
    (Status.PROMOTING, Move.FAILED): Status.ZOMBIE,
    (Status.PROMOTING, Move.REVOKED): Status.DEMOTING,
    (Status.PRIMARY, Move.REVOKED): Status.DEMOTING,
    (Status.DEMOTING, Move.REINSTATED): Status.PROMOTING,
    (Status.DEMOTING, Move.RETIRED): Status.ZOMBIE,
    (Status.DEMOTING, Move.CONDEMNED): Status.TERMINATING,
    (Status.DEMOTING, Move.CONFIRMED_GONE): Status.TERMINATED,
    (Status.ZOMBIE, Move.CONDEMNED): Status.TERMINATING,
    (Status.ZOMBIE, Move.REVIVED): Status.REPLICA,
    (Status.ZOMBIE, Move.CONFIRMED_GONE): Status.TERMINATED,
    (Status.TERMINATING, Move.CONFIRMED_GONE): Status.TERMINATED,
}


def moved(instance_id: str, status: Status, move: Move) -> Status:
    try:
        return MOVES[status, move]
    except KeyError:
        raise IllegalMove(f"{instance_id}: {status.name} has no move on {move.name}") from None
