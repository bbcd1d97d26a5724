"""The cluster's record: one item that says what is being done and what must not be forgotten."""

import hashlib
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Self

from holdfast.cloud import Market, NoticeKind, Offering
from holdfast.kernel import FREE, Lock

SCHEMA = 1


class Status(Enum):
    """How far the scale-down of one instance has come."""

    PLANNED = "planned"
    DRAINED = "drained"
    CONDEMNED = "terminating"
    """The point of no return: from here the instance can only leave."""
    GONE = "gone"
    SKIPPED = "skipped"
    """Back in service: it could not leave, or need not any more."""


OPEN = frozenset({Status.PLANNED, Status.DRAINED, Status.CONDEMNED})


@dataclass(frozen=True, slots=True)
class Target:
    instance_id: str
    status: Status = Status.PLANNED


@dataclass(frozen=True, slots=True)
class ScaleDown:
    """One scale-down, from plan to end.  The plan stays whole; statuses move."""

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

    def without(self, instance_id: str) -> "ScaleDown":
        """It has left: `markScaleDownInstanceDone` of the designs.

        A target that was kept has left for another reason: that is no progress of this plan.
        """
        return self.moved(instance_id, Status.GONE) if instance_id in self.having(*OPEN) else self


class LaunchStatus(Enum):
    INTENDED = "intended"
    """Written down, and perhaps asked for already: asking again with its token is the same request."""
    ANSWERED = "answered"
    REFUSED = "refused"
    """Not here: the next attempt asks elsewhere."""
    ABANDONED = "abandoned"
    """Nor anywhere else: the group gets no further attempt."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One request for capacity, whole enough to be repeated word for word after a crash.

    It refers to a numbered template version: what is not in the row cannot change under it.
    """

    group: int
    attempt: int
    pool: str
    zone: str
    subnet_id: str
    market: Market
    instance_type: str
    template_id: str
    template_version: int
    count: int
    status: LaunchStatus = LaunchStatus.INTENDED
    instance_ids: tuple[str, ...] = ()
    reason: str = ""
    at_s: int = 0
    """When it was intended: its instances must have joined within the join timeout after that."""
    bound: bool = False
    """Only this zone helps: the pods that wait are bound to it."""
    extended: bool = False
    """No tick came in time to open its nodes, though they were ready: their time began anew, once."""

    @property
    def offering(self) -> Offering:
        return Offering(self.zone, self.market, self.instance_type)

    @property
    def owed(self) -> int:
        """Workers that it may still bring: not answered yet, or to be asked for elsewhere."""
        if self.status is LaunchStatus.ABANDONED:
            return 0
        return max(0, self.count - len(self.instance_ids))

    def token(self, action_id: str) -> str:
        """The same for every repetition of this request, and for nothing else."""
        return hashlib.sha256(f"{action_id}/{self.group}/{self.attempt}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """One scale-up, from intents to joined nodes."""

    action_id: str
    started_s: int
    requested: int
    launches: tuple[Launch, ...] = ()
    joined: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    """Launched, and dead or given up before they joined."""
    reason: str = ""
    foreign_ids: tuple[str, ...] = ()
    """Instances of an action that a writer without intents began."""

    def __post_init__(self) -> None:
        if not self.action_id:
            raise ValueError("a scale-up needs an action id")

    @property
    def instance_ids(self) -> tuple[str, ...]:
        """Every instance that was launched for this action, in the order of their requests."""
        return (*self.foreign_ids, *(i for launch in self.launches for i in launch.instance_ids))

    @property
    def joining(self) -> tuple[str, ...]:
        settled = {*self.joined, *self.lost}
        return tuple(i for i in self.instance_ids if i not in settled)

    @property
    def owed(self) -> int:
        return sum(launch.owed for launch in self.launches)

    @property
    def intended(self) -> tuple[Launch, ...]:
        return tuple(launch for launch in self.launches if launch.status is LaunchStatus.INTENDED)

    @property
    def on_its_way(self) -> int:
        """Workers that may still come out of this action."""
        return self.owed + len(self.joining)


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
class Condemned:
    """Can only leave.  Outlives its action: termination is repeated until it is confirmed."""

    instance_id: str
    action_id: str
    reason: str
    at_s: int

    @property
    def never_joined(self) -> bool:
        return self.reason.startswith(NEVER_JOINED)


NEVER_JOINED = "did not join"


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The cloud takes it back, or hints that it may."""

    instance_id: str
    kind: NoticeKind
    at_s: int
    deadline_s: int
    replacement: str = ""
    """The action that launches its one replacement; `READY` once that has joined; `UNNEEDED`;
    or empty while undecided."""
    drained: bool = False

    @property
    def action_id(self) -> str:
        """Under this name it owns a cordon."""
        return f"{self.kind}-{self.instance_id}"


UNNEEDED = "unneeded"
READY = "ready"


@dataclass(frozen=True, slots=True)
class Recent:
    """Launched by us not long ago.  A listing may lag behind and not show it yet."""

    instance_id: str
    pool: str
    zone: str
    at_s: int


@dataclass(frozen=True, slots=True)
class Missing:
    """A node whose machine was not listed.  Once is no proof."""

    instance_id: str
    since_s: int


@dataclass(frozen=True, slots=True)
class Unavailable:
    """An offering that had no capacity: left alone for a while."""

    offering: str
    until_s: int
    reason: str


@dataclass(frozen=True, slots=True)
class Spent:
    """Instances asked for at one time: launches an hour are bounded, whatever becomes of them."""

    action_id: str
    at_s: int
    count: int


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
    """Cordons of ended actions, to be lifted.  Written down first: see `scale down`."""
    condemned: tuple[Condemned, ...] = ()
    interrupted: tuple[Interrupted, ...] = ()
    recent: tuple[Recent, ...] = ()
    missing: tuple[Missing, ...] = ()
    unavailable: tuple[Unavailable, ...] = ()
    spent: tuple[Spent, ...] = ()
    last_up_s: int = 0
    failures: int = 0
    """Scale-ups in a row that brought nothing."""
    back_off_until_s: int = 0
    last_action_id: str = ""
    """Of the action that ended last: no other bears its id, however soon it begins."""
    hold_code: str = ""
    """A `Reason`: why nothing was begun when it last changed.  Empty: an action was."""
    hold_reason: str = ""
    """The same in words, as they were then."""
    paused_until_s: int = 0
    paused_why: str = ""

    def __post_init__(self) -> None:
        if self.scale_up is not None and self.scale_down is not None:
            raise ValueError("a scale-up and a scale-down cannot both be in progress")

    @property
    def scaling_in_progress(self) -> bool:
        return self.scale_up is not None or self.scale_down is not None

    def with_lock(self, lock: Lock) -> Self:
        return replace(self, lock=lock)

    def next_action_id(self, owner: str, now_s: float) -> str:
        """`<epoch>-<owner>`, as the seeds write it; the second of one owner in one second gets a number."""
        first = f"{now_s:.0f}-{owner}"
        if self.last_action_id == first:
            return f"{first}.2"
        if self.last_action_id.startswith(f"{first}."):
            return f"{first}.{int(self.last_action_id.rpartition('.')[2]) + 1}"
        return first

    def is_condemned(self, instance_id: str) -> bool:
        return any(one.instance_id == instance_id for one in self.condemned)

    def interruption_of(self, instance_id: str) -> Interrupted | None:
        return next((one for one in self.interrupted if one.instance_id == instance_id), None)

    def is_gone(self, instance_id: str) -> bool:
        return any(stone.instance_id == instance_id for stone in self.gone)
