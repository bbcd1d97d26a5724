"""The cluster's record: one item that says what is being done and what must not be forgotten."""

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Self

from holdfast.kernel import FREE, Lock

SCHEMA = 1


class Status(Enum):
    """How far the removal of one instance has come."""

    PLANNED = "planned"
    DRAINED = "drained"
    CONDEMNED = "condemned"
    """The point of no return: from here the instance can only leave."""
    GONE = "gone"
    KEPT = "kept"
    """Back in service: it could not leave, or need not any more."""


OPEN = frozenset({Status.PLANNED, Status.DRAINED, Status.CONDEMNED})


@dataclass(frozen=True, slots=True)
class Target:
    instance_id: str
    status: Status = Status.PLANNED


@dataclass(frozen=True, slots=True)
class ScaleDown:
    """One removal, from plan to end.  The plan stays whole; statuses move."""

    action_id: str
    started_s: int
    targets: tuple[Target, ...]

    def __post_init__(self) -> None:
        ids = [target.instance_id for target in self.targets]
        if not self.action_id or not ids or len(set(ids)) != len(ids):
            raise ValueError(f"scale-down {self.action_id!r} needs an id and distinct targets, not {ids}")

    def having(self, *statuses: Status) -> tuple[str, ...]:
        return tuple(target.instance_id for target in self.targets if target.status in statuses)

    def moved(self, instance_id: str, to: Status) -> "ScaleDown":
        targets = tuple(
            Target(t.instance_id, to) if t.instance_id == instance_id else t for t in self.targets
        )
        return replace(self, targets=targets)


@dataclass(frozen=True, slots=True)
class ScaleUp:
    action_id: str
    started_s: int
    requested: int
    instance_ids: tuple[str, ...] = ()


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    schema: int = SCHEMA
    scale_up: ScaleUp | None = None
    scale_down: ScaleDown | None = None
    last_scale_s: int = 0
    pending_since_s: int = 0
    idle_since_s: int = 0
    worker_count: int = 0
    lock: Lock = FREE
    gone: tuple[Tombstone, ...] = ()
    skipped: tuple[Skip, ...] = ()
    strays: tuple[Cordon, ...] = field(default=())
    """Cordons of ended actions, to be lifted.  Written down first: see `shrink`."""

    def __post_init__(self) -> None:
        if self.scale_up is not None and self.scale_down is not None:
            raise ValueError("a scale-up and a scale-down cannot both be in progress")

    @property
    def scaling_in_progress(self) -> bool:
        return self.scale_up is not None or self.scale_down is not None

    def with_lock(self, lock: Lock) -> Self:
        return replace(self, lock=lock)

    def is_gone(self, instance_id: str) -> bool:
        return any(stone.instance_id == instance_id for stone in self.gone)
