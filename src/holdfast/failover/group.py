"""The group: the instances behind one agent id, and which of them is primary.

Primary, epoch and version stand in one record, so a handover is one write, and an
instance that still believes in an older epoch can be told to stop.  What changes with
every heartbeat (leases, sessions, reports) stands beside the record, in each instance's
own row: see ports.py.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from holdfast.failover.roles import Move, Status, moved

ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,64}")
ID_SHAPE: Final = "1 to 64 letters, digits or . _ : -"
"""What client, agent and instance ids look like: databases compare other letters in ways of their own."""


class Mode(StrEnum):
    """Who switches.  One value, so that no group is in two modes at once."""

    AUTO_SWITCH = "auto_switch"
    MANUAL_REPLICA = "manual_replica"
    """Exactly one standby is kept; only an operator switches, or a loss of the primary does."""
    OFF = "off"
    """No change of roles but by an operator."""


class NoticeKind(StrEnum):
    NONE = "none"
    REBALANCE = "rebalance"
    TERMINATION = "termination"


class ReplicaStatus(StrEnum):
    LAUNCHING = "launching"
    SYNCING = "syncing"
    READY = "ready"
    PROMOTED = "promoted"
    TERMINATED = "terminated"
    FAILED = "failed"


OPEN_REPLICA: Final = frozenset({ReplicaStatus.LAUNCHING, ReplicaStatus.SYNCING, ReplicaStatus.READY})


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    instance_id: str
    status: Status
    since_s: float = 0.0
    """When it got this status."""
    version: int = 0
    """How often its status has changed."""
    instance_type: str = ""
    region: str = ""
    az: str = ""
    address: str = ""
    """Where the others reach what it serves."""
    priority: int = 100
    """Of two that are ready, the one with the higher priority takes over."""
    never_promote: bool = False
    replica_id: str = ""
    """The launch intent that it came from."""
    emergency: bool = False
    notice: NoticeKind = NoticeKind.NONE
    notice_at_s: float = 0.0
    deadline_s: float = 0.0
    """When the cloud takes it back; 0 without a termination notice."""
    unhealthy_since_s: float = 0.0
    """Since when its own health check fails; 0 while it does not."""
    missing_since_s: float = 0.0
    """Since when the cloud does not list it; 0 while it does."""
    demoted_at_s: float = 0.0
    """When it last stopped being primary; 0 if it never was.  Retention counts from here."""
    terminate_at_s: float = 0.0
    """When a condemned member may be ended."""
    failure: str = ""
    """Why its promotion failed."""

    @property
    def pool(self) -> str:
        return f"{self.instance_type}.{self.az}" if self.instance_type and self.az else ""

    @property
    def interrupted(self) -> bool:
        """The cloud takes it back."""
        return self.notice is NoticeKind.TERMINATION


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """A launch intent: written before the machine is asked for, and kept as its row."""

    replica_id: str
    token: str
    """The idempotency key of this attempt."""
    pool: str
    market: str = "spot"
    template_version: str = ""
    emergency: bool = False
    created_s: float = 0.0
    deadline_s: float = 0.0
    """When it is given up, if it is not ready by then."""
    attempt: int = 1
    instance_id: str = ""
    status: ReplicaStatus = ReplicaStatus.LAUNCHING
    ended_s: float = 0.0
    """When it failed or was terminated; 0 before."""
    promoted_at_s: float = 0.0
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    mode: Mode = Mode.AUTO_SWITCH
    auto_terminate: bool = True
    terminate_wait_s: float = 300.0
    zombie_retention_s: float = 30 * 86_400.0
    standbys: int = 1
    """In manual-replica mode it is always one."""
    serve_reads: bool = False
    max_lag_s: float = 10.0
    max_lag_emergency_s: float = 60.0
    catch_up_s: float = 10.0
    """How long a promotion waits for the candidate to reach the old primary's last position."""
    promote_timeout_s: float = 60.0
    unhealthy_s: float = 30.0
    """How long a primary may report that it is unhealthy; 0: for ever."""
    fresh_s: float = 10.0
    """How old the heartbeat of a ready standby may be."""
    sync_fresh_s: float = 30.0
    """How old its newest sync report may be."""
    deadline_margin_s: float = 20.0
    """So long before the cloud takes a machine back, all must be done."""
    launch_timeout_s: float = 900.0
    on_demand_after_s: float = 60.0
    """In an emergency, how long spot capacity is tried before on-demand is."""
    quiet_s: float = 7_200.0
    """An emergency replica is ended so long after the last notice."""
    pool_penalty_s: float = 1_800.0
    """How long a pool that failed is left alone."""

    @property
    def reads_served(self) -> bool:
        """Whether a standby in sync may answer reads: always in manual-replica mode."""
        return self.serve_reads or self.mode is Mode.MANUAL_REPLICA

    @property
    def standbys_wanted(self) -> int:
        return 1 if self.mode is Mode.MANUAL_REPLICA else self.standbys


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    """Between two primaries: the old one has lost its epoch, the new one is not confirmed yet."""

    old: str
    """Empty when there was none."""
    reason: str
    code: str
    emergency: bool = False
    """Health is not asked anew, and more lag is accepted."""
    wanted: str = ""
    """The candidate that an operator named; if it fails, the old primary is reinstated."""
    accept_data_loss: bool = False
    candidate: str = ""
    """The member that is promoting."""
    started_s: float = 0.0
    deadline_s: float | None = None
    fenced: bool = False
    """The old primary said that it has stopped, or the cloud says that it is gone."""
    fenced_s: float = 0.0
    position: str = ""
    """How far the old primary had come when it stopped."""
    rejected: tuple[str, ...] = ()
    """Members whose promotion failed in this takeover."""

    @property
    def last_holder(self) -> str:
        """The member that `fenced` speaks of: the one that last held a lease."""
        return self.rejected[-1] if self.rejected else self.old


@dataclass(frozen=True, slots=True)
class Switch:
    """What an operator asked for, until a candidate is ready or its time is up."""

    wanted: str
    """Empty: whichever candidate is best."""
    by: str
    asked_s: float
    deadline_s: float
    emergency: bool = False
    accept_data_loss: bool = False


TWO_PRIMARIES: Final = "TWO_PRIMARIES"
"""The code of a group that was taken over with two primaries: which one is right, only an operator knows."""


@dataclass(frozen=True, slots=True)
class Degraded:
    """No primary serves, or none can take over: since when, and why."""

    since_s: float
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Recovering:
    """A member has heard of a newer epoch than the database knows: it was restored from the past."""

    since_s: float
    epoch: int
    """The highest that was reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    client_id: str
    agent_id: str
    epoch: int = 0
    """Rises with every revocation.  A lease is granted only under it."""
    served_epoch: int = 0
    """Under which the last confirmed primary serves, or served; 0 before the first one."""
    members: tuple[Member, ...] = ()
    replicas: tuple[Replica, ...] = ()
    settings: GroupSettings = field(default_factory=GroupSettings)
    takeover: Takeover | None = None
    switch: Switch | None = None
    degraded: Degraded | None = None
    recovering: Recovering | None = None
    paused_until_s: float = 0.0
    """Until then no role changes by itself, and the primary's next lease lasts as long."""
    long_until_s: float = 0.0
    """Until then a lease of a pause may last, also after the pause was ended early."""
    noticed_s: float = 0.0
    """When the newest notice came: an emergency replica is kept for a while after it."""
    strangers: tuple[str, ...] = ()
    """Machines with the group's tag that no record names: they are shown to a person, and left alone."""
    created_s: float = 0.0

    def __post_init__(self) -> None:
        ids = [member.instance_id for member in self.members]
        if len(set(ids)) != len(ids):
            raise ValueError(f"{self.subject}: an instance stands twice in {ids}")
        primaries = [m.instance_id for m in self.members if m.status.is_primary]
        if len(primaries) > 1:
            raise ValueError(f"{self.subject}: two primaries: {primaries}")
        if self.takeover is not None and self.primary is not None:
            raise ValueError(f"{self.subject}: {self.primary} is primary in the middle of a takeover")
        promoting = next((m.instance_id for m in self.members if m.status is Status.PROMOTING), "")
        if promoting != (self.takeover.candidate if self.takeover else ""):
            raise ValueError(
                f"{self.subject}: {promoting or 'no member'} is promoting, takeover: {self.takeover}"
            )
        demoting = [m.instance_id for m in self.members if m.status is Status.DEMOTING]
        if demoting and self.takeover is None:
            raise ValueError(f"{self.subject}: {demoting} demoting outside of a takeover")
        gone = [m.instance_id for m in self.members if m.status is Status.TERMINATED]
        if gone:
            raise ValueError(f"{self.subject}: {gone} terminated, but still in the record")

    @property
    def subject(self) -> str:
        return subject_of(self.client_id, self.agent_id)

    @property
    def holder(self) -> str | None:
        """The member that may hold a lease: promoting, or primary."""
        return next((m.instance_id for m in self.members if m.status.is_primary), None)

    @property
    def primary(self) -> str | None:
        """The member whose promotion is confirmed."""
        return next((m.instance_id for m in self.members if m.status is Status.PRIMARY), None)

    def member(self, instance_id: str) -> Member | None:
        return next((m for m in self.members if m.instance_id == instance_id), None)

    def having(self, *statuses: Status) -> Iterator[Member]:
        return (member for member in self.members if member.status in statuses)

    def replica(self, replica_id: str) -> Replica | None:
        return next((r for r in self.replicas if r.replica_id == replica_id), None)

    def put(self, *members: Member, **changes: Any) -> "Group":
        """Replace members by what they have become, and change other fields with them."""
        became = {member.instance_id: member for member in members}
        return replace(self, members=tuple(became.get(m.instance_id, m) for m in self.members), **changes)


def subject_of(client_id: str, agent_id: str) -> str:
    """A group's key in the repository."""
    return f"{client_id}/{agent_id}"


def after(member: Member, move: Move, now_s: float) -> Member:
    """The member moved along the table; raises IllegalMove otherwise."""
    status = moved(member.instance_id, member.status, move)
    return replace(member, status=status, since_s=now_s, version=member.version + 1)
