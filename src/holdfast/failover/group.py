"""The group: the instances behind one agent, and which of them is primary.

Primary, epoch and version stand in one record, so a handover is one write, and an
instance that still believes in an older epoch can be told to stop.
"""

from dataclasses import dataclass, replace

from holdfast.failover.roles import Move, Role, moved


@dataclass(frozen=True, slots=True)
class Member:
    instance_id: str
    role: Role
    ready: bool = False
    """In sync, and able to take over."""


@dataclass(frozen=True, slots=True)
class Takeover:
    """Between two primaries: the old one has lost its epoch and may still be serving."""

    old: str
    reason: str
    started_s: float
    asked: bool = False
    """It was asked to stop; whether it heard is unknown."""
    fenced: bool = False
    """It said that it has stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    agent_id: str
    epoch: int = 0
    since_s: float = 0.0
    """When the primary was promoted: until its first lease, it is given some time."""
    members: tuple[Member, ...] = ()
    takeover: Takeover | None = None

    def __post_init__(self) -> None:
        ids = [member.instance_id for member in self.members]
        if len(set(ids)) != len(ids):
            raise ValueError(f"{self.agent_id}: an instance stands twice in {ids}")
        primaries = [m.instance_id for m in self.members if m.role is Role.PRIMARY]
        if len(primaries) > 1:
            raise ValueError(f"{self.agent_id}: two primaries: {primaries}")
        if self.takeover and primaries:
            raise ValueError(f"{self.agent_id}: {primaries[0]} is primary in the middle of a takeover")

    @property
    def primary(self) -> str | None:
        return next((m.instance_id for m in self.members if m.role is Role.PRIMARY), None)

    @property
    def candidates(self) -> tuple[str, ...]:
        return tuple(m.instance_id for m in self.members if m.role is Role.REPLICA and m.ready)

    def member(self, instance_id: str) -> Member | None:
        return next((m for m in self.members if m.instance_id == instance_id), None)

    def move(self, instance_id: str, move: Move) -> "Group":
        """Move one instance along the table; raises IllegalMove and changes nothing otherwise."""
        members = tuple(
            replace(m, role=moved(instance_id, m.role, move)) if m.instance_id == instance_id else m
            for m in self.members
        )
        return replace(self, members=members)
