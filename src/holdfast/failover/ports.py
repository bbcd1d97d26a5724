"""What failover needs from outside, in its own words.

Each effect names its fence: (a) idempotency key, (b) irrevocable with durable intent,
(c) server-side precondition, (d) self-fencing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from holdfast.failover.group import Group
from holdfast.kernel import Repository


@dataclass(frozen=True, slots=True)
class Fence:
    """Ask the old primary to stop serving; its answer says whether it has.

    Twice is once.  Fence (c): it names the epoch that has ended; an agent in a newer one
    serves no more under that epoch, says so, and changes nothing.  Never relied on: the
    lease runs out without it.
    """

    instance_id: str
    ended_epoch: int


Effect = Fence


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One look, taken after the record was read."""

    leases_left_s: Mapping[str, float]
    """What is left of each instance's newest lease, by the database's clock.  An instance
    that is not in it was never granted one, or is known to be gone."""
    interrupted: frozenset[str] = frozenset()
    """Instances with a termination notice, or known to be dead."""


@dataclass(frozen=True, slots=True)
class Term:
    """How long a lease is: for the agent that serves under it, and for servers that wait for its end."""

    granted_s: float
    clock_rate_margin: float = 0.01
    """How much slower than the database's clock an agent's may run."""

    @property
    def kept_s(self) -> float:
        """The database keeps a lease for longer than an agent counts it, however slowly that one counts."""
        return self.granted_s * (1 + self.clock_rate_margin)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    agent_id: str
    instance_id: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Grant:
    """The answer to a heartbeat, from the instance's own row after the commit."""

    instance_id: str
    epoch: int
    primary: bool
    """It is the primary of this epoch."""
    lease_s: float
    """Counted by the agent from the moment it *sent* the heartbeat.  0: do not serve."""


class GroupStore(Repository[Group], Protocol):
    """Groups by agent id, and the leases under which their primaries serve."""

    def renew(self, heartbeats: Sequence[Heartbeat], term: Term) -> Sequence[Grant]:
        """Extend many leases in one transaction, each only WHERE epoch AND primary hold.

        The row keeps the lease for `term.kept_s`, the answer grants `term.granted_s`.

        Does not change the version: renewals do not disturb a change of the group, and
        an ended epoch cannot be renewed.  Twice extends twice, which is harmless.
        """
        ...

    def leases_left_s(self, agent_id: str) -> Mapping[str, float]:
        """What is left of each instance's newest lease, by the database's clock.  Repeatable."""
        ...
