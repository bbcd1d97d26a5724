"""What one tick may come to."""

from enum import StrEnum


class TickOutcome(StrEnum):
    IDLE = "idle"
    """Nothing is left to do; why nothing is begun stands beside it."""
    WAITING = "waiting"
    """Something is on its way."""
    LEFT_TO_ANOTHER = "left to another"
    """Another tick holds the lock, and will find what this one brought."""
    OUT_OF_TIME = "out of time"
    """The next tick goes on."""
    BUSY = "busy"
    """The store or the world did not answer."""
    REFUSED = "refused"
    """The store or the world said no: an operator must mend something."""
    NOTHING_TO_DO = "nothing to do"
    """What called the tick asks for none."""
    NOT_UNDERSTOOD = "not understood"
    """What called the tick makes no sense."""

    @property
    def failed(self) -> bool:
        """The tick did not do its work."""
        return self in (TickOutcome.BUSY, TickOutcome.REFUSED)
