"""Machines as the cloud lists them, and what a machine of a type offers."""

from dataclasses import dataclass
from enum import StrEnum

from holdfast.cloud.offerings import Market


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


@dataclass(frozen=True, slots=True)
class Shape:
    """What one machine of a type offers to pods."""

    cpu_m: int
    memory: int
    pods: int = 110
    architecture: str = "amd64"
