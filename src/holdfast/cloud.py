"""Values that the parts share: what a cloud has, in words that no provider owns."""

from dataclasses import dataclass
from enum import StrEnum


class Market(StrEnum):
    SPOT = "spot"
    ON_DEMAND = "on-demand"


class State(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    SHUTTING_DOWN = "shutting-down"
    TERMINATED = "terminated"
    STOPPING = "stopping"
    STOPPED = "stopped"


ALIVE = frozenset({State.PENDING, State.RUNNING})
LEAVING = frozenset({State.SHUTTING_DOWN, State.TERMINATED})


@dataclass(frozen=True, slots=True)
class Instance:
    """A machine as the cloud lists it."""

    instance_id: str
    state: State
    zone: str
    instance_type: str = ""
    market: Market = Market.ON_DEMAND
    launched_s: int = 0
    pool: str = "default"
    action_id: str = ""
    """The action that launched it, from its tag.  Empty: not ours to remove."""
    token: str = ""
    """The client token of its launch."""


@dataclass(frozen=True, slots=True, order=True)
class Offering:
    """One place where capacity can be asked for."""

    zone: str
    market: Market
    instance_type: str

    def __str__(self) -> str:
        return f"{self.market}/{self.instance_type}/{self.zone}"


@dataclass(frozen=True, slots=True)
class Shape:
    """What one machine of a type offers to pods."""

    cpu_m: int
    memory: int
    pods: int = 110
    architecture: str = "amd64"


class NoticeKind(StrEnum):
    INTERRUPTION = "interruption"
    """It will be taken back at the deadline."""
    REBALANCE = "rebalance"
    """A hint that it may be taken back before long."""
    GONE = "gone"
    """It is shutting down or worse, whoever did it."""


@dataclass(frozen=True, slots=True, order=True)
class Notice:
    """The cloud says that a machine will leave, or has left."""

    instance_id: str
    kind: NoticeKind
    at_s: int
    deadline_s: int = 0

    @property
    def key(self) -> str:
        """The same for every copy of one notice, however it arrives."""
        return f"{self.instance_id}#{self.kind}"
