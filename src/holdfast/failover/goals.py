"""What the server wants of one instance: its goal, from the record alone.

The agent's own table says what it does for each; a test holds the two against each other.
"""

from dataclasses import dataclass
from enum import StrEnum

from holdfast.failover.group import Group, Member
from holdfast.failover.roles import Status


class Do(StrEnum):
    FOLLOW = "follow"
    """Run on-follow for this primary and epoch, once; report sync status and health."""
    PROMOTE = "promote"
    """Run on-promote under this epoch, serve only under a lease, and report what became of the hook."""
    SERVE = "serve"
    DEMOTE = "demote"
    """Stop serving, and report how far the copy had come."""
    STOP = "stop"
    """Stop for good: nothing else is ever asked of this instance."""


GOALS: dict[Status, Do] = {
    Status.LAUNCHING: Do.FOLLOW,
    Status.REPLICA: Do.FOLLOW,
    Status.PROMOTING: Do.PROMOTE,
    Status.PRIMARY: Do.SERVE,
    Status.DEMOTING: Do.DEMOTE,
    Status.ZOMBIE: Do.STOP,
    Status.TERMINATING: Do.STOP,
    Status.TERMINATED: Do.STOP,
}


@dataclass(frozen=True, slots=True)
class Primary:
    instance_id: str
    address: str


@dataclass(frozen=True, slots=True)
class Goal:
    version: int
    """The group's version that it follows from: of two goals the one with the higher version holds."""
    epoch: int
    do: Do
    primary: Primary | None = None
    """The primary to follow; None while there is none: keep on as before."""
    deadline_in_s: float | None = None

    @property
    def enabled(self) -> bool:
        return self.do is not Do.STOP


def goal_of(group: Group, instance_id: str, version: int, now_s: float) -> Goal:
    """A stranger, and what has left the record, is told to stop."""
    member = group.member(instance_id)
    do = GOALS[member.status] if member else Do.STOP
    primary = next(group.having(Status.PRIMARY), None)
    leader = Primary(primary.instance_id, primary.address) if primary else None
    epoch = group.served_epoch if do is Do.FOLLOW else group.epoch
    return Goal(version, epoch, do, leader, _deadline_in_s(group, member, now_s))


def _deadline_in_s(group: Group, member: Member | None, now_s: float) -> float | None:
    if member is None:
        return None
    if member.status is Status.PROMOTING:
        return max(0.0, member.since_s + group.settings.promote_timeout_s - now_s)
    if member.status is Status.DEMOTING and group.takeover and group.takeover.deadline_s:
        return max(0.0, group.takeover.deadline_s - now_s)
    return None
