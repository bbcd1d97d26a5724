"""Why the fleet is changed or left alone, and what a tick came to, as stable codes.

A code is stored, compared and alerted on; the words beside it are for people and may hold figures that change
with every tick.  Only a change of code is written to the record.
"""

from enum import StrEnum


class Reason(StrEnum):
    # Why workers are added.
    BELOW_FLOOR = "BelowFloor"
    PODS_PENDING = "PodsPending"
    WORKERS_BUSY = "WorkersBusy"
    SPARE_SHORT = "SpareShort"
    # Why workers are removed.
    WORKERS_IDLE = "WorkersIdle"
    NODE_EMPTY = "NodeEmpty"
    NODE_UNDERUSED = "NodeUnderused"
    # Why no worker is added, though one is wanted.
    PENDING_TOO_SHORT = "PendingTooShort"
    CAPACITY_ON_ITS_WAY = "CapacityOnItsWay"
    SCALE_UP_COOLING_DOWN = "ScaleUpCoolingDown"
    AT_MAXIMUM = "AtMaximum"
    BACKING_OFF = "BackingOff"
    NOWHERE_TO_LAUNCH = "NowhereToLaunch"
    # Why no worker is removed.
    LOAD_UNKNOWN = "LoadUnknown"
    NEITHER_BUSY_NOR_IDLE = "NeitherBusyNorIdle"
    IDLE_TOO_SHORT = "IdleTooShort"
    TROUBLE = "Trouble"
    INTERRUPTED_FIRST = "InterruptedFirst"
    SCALE_DOWN_COOLING_DOWN = "ScaleDownCoolingDown"
    AT_MINIMUM = "AtMinimum"
    NO_WORKER_MAY_LEAVE = "NoWorkerMayLeave"
    OUTSIDE_WINDOW = "OutsideWindow"
    # Why nothing is begun at all.
    PAUSED = "Paused"
    OBSERVING = "Observing"


class TickOutcome(StrEnum):
    """What one tick may come to."""

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
