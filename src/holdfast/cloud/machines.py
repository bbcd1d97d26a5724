"""Machines as the cloud lists them, and what a machine of a type offers."""

from dataclasses import dataclass
from enum import StrEnum

from holdfast.cloud.launches import is_token_of
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
    ended_why: str = ""
    """Of one that stops or has ended, why, in the cloud's words."""
    template: str = ""
    """The launch template that it was made from, `lt-…:version`.  Empty: not known."""
    private_ip: str = ""
    private_dns: str = ""

    @property
    def is_ours(self) -> bool:
        """Launched by the action that its tag names.  Any tag can be forged, the client token can not."""
        return bool(self.action_id) and is_token_of(self.token, self.action_id)


@dataclass(frozen=True, slots=True)
class Shape:
    """What one machine of a type offers to pods."""

    cpu_m: int
    memory: int
    pods: int = 110
    architecture: str = "amd64"
    devices: tuple[tuple[str, int], ...] = ()
    """GPUs and their like, by the names that pods ask for them, sorted."""


@dataclass(frozen=True, slots=True)
class MachineType:
    """A type of machine as the cloud describes it."""

    name: str
    shape: Shape
    vcpus: int
    memory_mib: int
    local_disk_gib: int = 0
    burstable: bool = False
    bare_metal: bool = False
    accelerated: bool = False
    """It has GPUs or other accelerators."""
    current: bool = True
    """Of a generation that the cloud calls current."""
