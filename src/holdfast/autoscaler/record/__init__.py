"""The cluster's record: one item that says what is being done and what must not be forgotten."""

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Self

from holdfast.autoscaler.record.memory import (
    Cordon,
    Disrupted,
    Missing,
    NotReady,
    PoolFailure,
    PoolIdle,
    Purpose,
    Recent,
    Skip,
    Spent,
    Swept,
    Tombstone,
    Unavailable,
    Underused,
    Unhelped,
)
from holdfast.cloud import Instance, Market, NoticeKind, Offering
from holdfast.cloud.launches import launch_token
from holdfast.kernel import FREE, Lock

__all__ = [
    "DECLINED",
    "EXTENSIONS_MAX",
    "NEVER_JOINED",
    "OPEN",
    "READY",
    "SCHEMA",
    "UNNEEDED",
    "Cluster",
    "Condemned",
    "Cordon",
    "Disrupted",
    "Interrupted",
    "Launch",
    "LaunchStatus",
    "Missing",
    "NotReady",
    "PoolFailure",
    "PoolIdle",
    "Purpose",
    "Recent",
    "ScaleDown",
    "ScaleUp",
    "Skip",
    "Spent",
    "Status",
    "Swept",
    "Target",
    "Tombstone",
    "Unavailable",
    "Underused",
    "Unhelped",
]

SCHEMA = 1
EXTENSIONS_MAX = 3
"""So often a request gets more time for nodes that are ready and that no tick has opened."""


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
    reason: str = ""
    """A `Reason`, where it is another than that the workers are idle."""

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
    extended: int = 0
    """So often no tick came in time to open its nodes, though they were ready: their time began anew."""
    purpose: Purpose = Purpose.DEMAND
    types: tuple[str, ...] = ()
    """Only these hold the pods that it is for: the next attempt asks for another of them.  Empty: any."""
    usd_max: float = 0.0
    """What one of them may cost an hour at most, wherever it is asked for next.  0: anything."""

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
        return launch_token(action_id, self.group, self.attempt)


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
    def by_choice(self) -> bool:
        """Whether all of it is in place of workers that are replaced by choice."""
        return bool(self.launches) and all(row.purpose is Purpose.ROTATION for row in self.launches)

    @property
    def on_its_way(self) -> int:
        """Workers that may still come out of this action."""
        return self.owed + len(self.joining)


@dataclass(frozen=True, slots=True)
class Condemned:
    """Can only leave.  Outlives its action: termination is repeated until it is confirmed."""

    instance_id: str
    action_id: str
    reason: str
    at_s: int
    refused: int = 0
    """So often has the cloud refused to end it; the pause between two tries is longer each time."""
    retry_s: int = 0
    """It is not asked again before this."""

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
    """The action that launches its one replacement; `READY` once that has joined; `UNNEEDED`; of a hint that
    is not followed `DECLINED`; or empty while undecided."""
    drained: bool = False
    why: str = ""
    """Of one that is replaced by choice."""
    usd_max: float = 0.0
    """What its replacement may cost an hour at most.  0: anything."""

    @property
    def action_id(self) -> str:
        """Under this name it owns a cordon.  Hints come again and again: each has a name of its own, so that
        the cordon of one is not lifted as a stray of another."""
        again = "" if self.kind.is_certain else f"-{self.at_s}"
        return f"{self.kind}-{self.instance_id}{again}"


UNNEEDED = "unneeded"
READY = "ready"
DECLINED = "declined"


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
    nodeless: tuple[Missing, ...] = ()
    """Machines that have joined, and whose node is not there any more."""
    swept: tuple[Swept, ...] = ()
    cluster_uid: str = ""
    """The identity of the cluster that this record is about: the uid of its namespace kube-system."""
    refused_uid: str = ""
    """Of the other cluster that answers at the moment, if one does."""
    joined: tuple[str, ...] = ()
    """Machines that took pods once: such a one is never a surplus that failed to join."""
    joined_since_s: int = 0
    """Machines launched after this moment have joined only if `joined` names them.  0: it names none yet."""
    not_ready: tuple[NotReady, ...] = ()
    underused: tuple[Underused, ...] = ()
    """Noted only where consolidation is on."""
    disrupted: tuple[Disrupted, ...] = ()
    unhelped: tuple[Unhelped, ...] = ()
    unavailable: tuple[Unavailable, ...] = ()
    spent: tuple[Spent, ...] = ()
    last_up_s: int = 0
    pool_failures: tuple[PoolFailure, ...] = ()
    pools_idle: tuple[PoolIdle, ...] = ()
    """Where there are several pools: `idle_since_s` is the fleet's, and says that one of them is."""
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

    @property
    def failures(self) -> int:
        """Scale-ups in a row that came out short, in the pool where most did."""
        return max((one.failures for one in self.pool_failures), default=0)

    def failure_of(self, pool: str) -> PoolFailure | None:
        return next((one for one in self.pool_failures if one.pool == pool), None)

    def backs_off(self, pool: str, now_s: float) -> bool:
        failed = self.failure_of(pool)
        return failed is not None and now_s < failed.until_s

    def is_condemned(self, instance_id: str) -> bool:
        return any(one.instance_id == instance_id for one in self.condemned)

    def interruption_of(self, instance_id: str) -> Interrupted | None:
        return next((one for one in self.interrupted if one.instance_id == instance_id), None)

    def names(self, instance_id: str) -> bool:
        """Whether it is, or lately was, a machine of this cluster."""
        up, down = self.scale_up, self.scale_down
        return (
            instance_id in self.joined
            or instance_id in (up.instance_ids if up else ())
            or instance_id in (down.having(*Status) if down else ())
            or any(one.instance_id == instance_id for one in self.recent)
            or self.is_condemned(instance_id)
            or self.is_gone(instance_id)
            or self.interruption_of(instance_id) is not None
        )

    def may_have_joined(self, machine: Instance) -> bool:
        """Whether it took pods once, as far as is known: what is older than our memory may have."""
        return (
            machine.launched_s <= self.joined_since_s or not self.joined_since_s or self.has_joined(machine)
        )

    def has_joined(self, machine: Instance) -> bool:
        return machine.instance_id in self.joined

    def is_gone(self, instance_id: str) -> bool:
        return any(stone.instance_id == instance_id for stone in self.gone)
