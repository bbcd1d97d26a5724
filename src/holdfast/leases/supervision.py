"""When a KCL is started anew: only if shards would stay unread otherwise, and one worker of an app at a time.

Rule 1: never for a lower number.  A KCL that may hold too much does no harm; a restart does.
Rule 2: only if leases are beyond what the living may hold, and have been for a while: a reshard shows rows
        in between, and another worker's restart may already be enough.
Rule 3: only by the worker whose turn it is, and the turn ends when its KCL has been up again for a while.
"""

from dataclasses import dataclass
from enum import StrEnum


class Move(StrEnum):
    RUN_ON = "runOn"
    TAKE_TURN = "takeTurn"
    RESTART = "restart"
    END_TURN = "endTurn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One worker's KCL, as it stands after a look."""

    running: int | None
    """What the KCL was told when it was started; None: it was not started yet."""
    told: int
    """What it would be told now."""
    unread_for_s: float | None
    """For how long leases have been beyond what the living may hold; None: none are."""
    has_turn: bool
    """Whether the lock in the record is this worker's."""
    ordered: bool = False
    """Whether a restart was ordered in this turn."""
    up_for_s: float | None = None
    """For how long the KCL has been up since then; None: it is not yet."""


def next_move(now: Situation, *, steady_s: float, settle_s: float) -> Move:
    """`steady_s`: so long leases must stay unread; `settle_s`: so long a restarted KCL must be up."""
    if now.ordered:
        up = now.up_for_s is not None and now.up_for_s >= settle_s
        return Move.END_TURN if up else Move.RUN_ON
    unread = now.unread_for_s is not None and now.unread_for_s >= steady_s
    if unread and now.running is not None and now.told > now.running:
        return Move.RESTART if now.has_turn else Move.TAKE_TURN
    return Move.END_TURN if now.has_turn else Move.RUN_ON
