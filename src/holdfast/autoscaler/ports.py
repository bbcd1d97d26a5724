"""What the autoscaler needs from outside, in its own words.

Each effect names its fence: (a) idempotency key, (b) irrevocable with durable intent,
(c) server-side precondition, (d) self-fencing.
"""

from dataclasses import dataclass
from typing import Protocol

from holdfast.autoscaler.place import Node
from holdfast.autoscaler.record import Cluster, Cordon
from holdfast.kernel import Repository


@dataclass(frozen=True, slots=True)
class Drain:
    """Cordon for this action and evict.

    Twice is once.  Fence (c): the cordon carries its action, evictions carry pod UIDs.
    A late one cordons for an action that has ended: a stray, which is lifted.
    """

    instance_id: str
    action_id: str


@dataclass(frozen=True, slots=True)
class Uncordon:
    """Lift this action's cordon and no other.

    Twice is once.  Fence (c): only the owner's cordon is lifted, and only ever that of
    an action which has ended.
    """

    instance_id: str
    action_id: str


@dataclass(frozen=True, slots=True)
class Terminate:
    """End the instance.

    Twice is once.  Fence (b): named only after a condemnation, which is never taken
    back; instance ids are never used again.
    """

    instance_id: str


Effect = Drain | Uncordon | Terminate


@dataclass(frozen=True, slots=True)
class Drained:
    """The answer of a drain: empty of pods, or blocked by something that has a name."""

    blocked_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One look at the world, taken after the record was read."""

    me: str
    """The invocation that looks: part of the id of an action that it begins."""
    wanted: int
    """How many workers the load needs."""
    nodes: tuple[Node, ...]
    cordons: frozenset[Cordon] = frozenset()


class ClusterStore(Repository[Cluster], Protocol):
    """One record a cluster, under the subject `cluster`, with every event beside it."""


class Fleet(Protocol):
    """The machines and the cluster that they form."""

    def look(self) -> Seen:
        """The workers and their cordons.  Repeatable; may lag behind."""
        ...

    def perform(self, effect: Effect) -> object:
        """Carry one effect out, as its own docstring says; raises Busy or Unknown."""
        ...
