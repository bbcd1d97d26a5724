"""What outlives actions, one row a thing: machines that came or went, what is left alone, what was spent."""

from dataclasses import dataclass
from enum import StrEnum


class Purpose(StrEnum):
    """What a request is for.  Each has launches an hour of its own, so that none starves another."""

    DEMAND = "demand"
    """Pods that wait, or workers that are busy."""
    REPAIR = "repair"
    """The floor, and a worker in place of one that is certain to go."""
    HINT = "hint"
    """A worker in place of one that the cloud only hints it may take back."""
    ROTATION = "rotation"
    """A worker in place of one that is replaced by choice."""


@dataclass(frozen=True, slots=True)
class Skip:
    """Tried and kept.  Not tried again for a while: a stale listing would drain it for ever."""

    instance_id: str
    reason: str
    until_s: int


@dataclass(frozen=True, slots=True)
class Tombstone:
    """We removed it.  Remembered for longer than any listing can lag behind."""

    instance_id: str
    at_s: int


@dataclass(frozen=True, slots=True, order=True)
class Cordon:
    """A cordon belongs to the action that made it."""

    instance_id: str
    action_id: str


@dataclass(frozen=True, slots=True)
class Recent:
    """Launched by us not long ago.  A listing may lag behind and not show it yet."""

    instance_id: str
    pool: str
    zone: str
    at_s: int


@dataclass(frozen=True, slots=True)
class Missing:
    """A node whose machine was not listed, or a machine without the node that it had.  Once is no proof."""

    instance_id: str
    since_s: int


@dataclass(frozen=True, slots=True)
class Swept:
    """What the sweep took up at that time: so much an hour, and no more."""

    instance_id: str
    at_s: int


@dataclass(frozen=True, slots=True)
class NotReady:
    """A node that had joined, and whose kubelet is not heard any more."""

    instance_id: str
    since_s: int


@dataclass(frozen=True, slots=True)
class Underused:
    """A node in service of which pods ask for little or nothing."""

    instance_id: str
    since_s: int
    empty_since_s: int = 0
    """0: pods run there that no DaemonSet owns."""


@dataclass(frozen=True, slots=True)
class Disrupted:
    """Emptied or replaced by choice at that time: so many an hour, and no more."""

    instance_id: str
    at_s: int


@dataclass(frozen=True, slots=True)
class Unhelped:
    """Pods for which a node as they ask for stands empty, and the scheduler does not put them there."""

    pods: str
    """By their owner."""
    since_s: int


@dataclass(frozen=True, slots=True)
class Unavailable:
    """What had no capacity, or was refused: left alone for a while.

    An offering, or a quota, a subnet, or a type of one pool: see `launch_plan.bars_of`.
    """

    offering: str
    until_s: int
    reason: str
    times: int = 1
    """How often in a row.  Each time it is left alone for longer."""


@dataclass(frozen=True, slots=True)
class PoolFailure:
    """A pool whose scale-up came to nothing.  It alone backs off, for longer each time."""

    pool: str
    failures: int
    """In a row.  0: only capacity was lacking."""
    until_s: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PoolIdle:
    """A pool with little load and no pod that waits for it."""

    pool: str
    since_s: int


@dataclass(frozen=True, slots=True)
class Spent:
    """Instances asked for at one time, but for those that were certainly refused: launches an hour are
    bounded, whatever becomes of them."""

    action_id: str
    at_s: int
    count: int
    purpose: Purpose = Purpose.DEMAND
