"""What the autoscaler needs from outside, in its own words.

Each effect names its fence: (a) idempotency key, (b) irrevocable with durable intent,
(c) server-side precondition, (d) self-fencing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from holdfast.autoscaler.record import Cluster, Launch
from holdfast.autoscaler.settings import Pool
from holdfast.cloud import Instance, MachineType, Notice, Offering, Prices, Shape
from holdfast.cloud.announcements import Announcement
from holdfast.cloud.kubernetes import Budget, Evicted, KubeNode, Namespace, Pod
from holdfast.cloud.launches import Launched, Refused, Template, Termination
from holdfast.cloud.volumes import VolumeLists
from holdfast.kernel import Repository


@dataclass(frozen=True, slots=True)
class Drain:
    """Cordon for this action and evict, as far as one round goes.

    Twice is once.  Fence (c): the cordon carries its action, evictions carry pod UIDs.
    A late one cordons for an action that has ended: a stray, which is lifted.
    """

    instance_id: str
    action_id: str
    deadline_s: int = 0
    """The machine dies then, whatever we do: nothing blocks, and grace is clamped.  0: no deadline."""


@dataclass(frozen=True, slots=True)
class CordonNode:
    """Keep new pods off the node, for this action.

    Twice is once.  Fence (c): as the cordon of a drain.
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
    keep_console: bool = False
    """Answer with what it printed when it booted: the only trace of why it never joined."""


@dataclass(frozen=True, slots=True)
class LaunchInstances:
    """Ask for the capacity that an intent names.

    Twice is once.  Fence (a): the token of action, group and attempt.  A token fences
    repeats of a success, not a late first try: what that brings is a surplus whose node
    takes no pod, and the sweep adopts or removes it.
    """

    action_id: str
    launch: Launch


@dataclass(frozen=True, slots=True)
class Admit:
    """Lift the joining taint of a node whose instance the record names.

    Twice is once.  Fence (c): the node's resource version, which a cordon changes; so a
    late one cannot open a node that is being removed.
    """

    instance_id: str


@dataclass(frozen=True, slots=True)
class DeleteNode:
    """Delete the Node object of a machine that is gone, so that its name can be used again.

    Twice is once.  Fence (c): the UID; a machine that joined under the same name has another.
    """

    instance_id: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class ForgetNotices:
    """Take notices that the record names, or that concern no machine of ours, out of the inbox.

    Twice is once.  Fence (d): a copy that arrives later is folded in again and changes nothing.
    """

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PrepareTemplate:
    """Make the launch template version that a pool's settings describe.

    Twice is once.  Fence (a): the digest is both client token and description.  A late
    one makes a version that no launch refers to.
    """

    pool: str
    digest: str


Effect = (
    Drain
    | CordonNode
    | Uncordon
    | Terminate
    | LaunchInstances
    | Admit
    | DeleteNode
    | ForgetNotices
    | PrepareTemplate
)


@dataclass(frozen=True, slots=True)
class Drained:
    """The answer of a drain: empty of pods, blocked by something that has a name, or not yet done."""

    blocked_by: str = ""
    left: int = 0
    """Pods that are still there: evicted and going, or refused for now."""
    waiting_for: str = ""
    """What the first of them waits for."""


@dataclass(frozen=True, slots=True)
class Load:
    """How busy the workers are.  `cpu` None: it is not known, and `problem` says why."""

    cpu: float | None
    peak: float | None = None
    """The highest over the idle window, where the source has a history."""
    problem: str = ""
    source: str = ""


class ClusterStore(Repository[Cluster], Protocol):
    """One record a cluster, under the subject `cluster`, with every event beside it."""


class Inbox(Protocol):
    """Where notices wait until a tick folds them into the record."""

    def put(self, notices: Sequence[Notice]) -> None:
        """Keep each, if none with its key is there.  Twice is once.  Raises Busy or Unknown."""
        ...

    def waiting(self) -> Sequence[Notice]:
        """All that were put and not yet taken out; strongly consistent.  Repeatable."""
        ...

    def forget(self, keys: Sequence[str]) -> None:
        """Take them out.  Twice is once; what is not there is fine."""
        ...


class Cloud(Protocol):
    """The machines.  Raises Busy (throttled) or Unknown (the answer was lost)."""

    def instances(self) -> Sequence[Instance]:
        """Every worker that carries this cluster's tags, in whatever state it is listed.

        Never the control plane, never another cluster's.  Repeatable; may lag behind.
        """
        ...

    def launch(self, action_id: str, launch: Launch) -> Launched | Refused:
        """See `LaunchInstances`: twice is once, by the token."""
        ...

    def terminate(self, instance_ids: Sequence[str]) -> Mapping[str, Termination]:
        """See `Terminate`: twice is once.  By id: what the cloud said; one refusal holds up no other."""
        ...

    def templates(self, pools: Sequence[Pool]) -> Mapping[str, Template]:
        """The template version of each pool that has one with the digest of its settings now.

        Repeatable; may lag behind.
        """
        ...

    def digest(self, pool: Pool) -> str:
        """Of everything that a template of this pool is made from.  Repeatable: no call is made."""
        ...

    def prepare(self, pool: Pool) -> None:
        """See `PrepareTemplate`: twice is once."""
        ...

    def subnets(self, subnet_ids: Sequence[str]) -> Mapping[str, str]:
        """The zone of each subnet.  Repeatable; does not change."""
        ...

    def shapes(self, instance_types: Sequence[str]) -> Mapping[str, Shape]:
        """What a machine of each type has.  Repeatable; does not change."""
        ...

    def types(self) -> Sequence[MachineType]:
        """All types of machines that there are.  Repeatable; may be some hours old."""
        ...

    def prices(self, offerings: Sequence[Offering]) -> Prices:
        """What each costs an hour now, where it is known.  Repeatable."""
        ...

    def marked(self) -> Sequence[Notice]:
        """Machines that the cloud itself says it is taking back, this cluster's and others.

        Repeatable; may lag behind.
        """
        ...

    def console(self, instance_id: str) -> str:
        """The end of what the machine printed when it booted.  Repeatable; may be empty."""
        ...


class Kubernetes(Protocol):
    """The cluster.  Raises Busy (try later), Conflict (a precondition failed), Unknown, or
    Invalid for what is not allowed, with the missing grant."""

    def cluster_uid(self) -> str:
        """The cluster's identity: the uid of its namespace kube-system.  Repeatable; does not change."""
        ...

    def namespaces(self) -> Sequence[Namespace]:
        """All namespaces.  Repeatable."""
        ...

    def nodes(self) -> Sequence[KubeNode]:
        """All nodes, consistent, in chunks.  Repeatable."""
        ...

    def pods(self, node_name: str | None = None) -> Sequence[Pod]:
        """All pods, or those bound to one node; consistent, in chunks.  Repeatable."""
        ...

    def budgets(self) -> Sequence[Budget]:
        """All disruption budgets.  Repeatable."""
        ...

    def volumes(self) -> VolumeLists:
        """All claims, volumes and storage classes, and what CSI drivers say of nodes.  Repeatable."""
        ...

    def node(self, name: str) -> KubeNode | None:
        """One node, consistent.  Repeatable."""
        ...

    def change_node(self, node: KubeNode, changed: KubeNode) -> KubeNode:
        """Bring cordon, taints and our annotations of `node` to those of `changed`, if its
        resource version is still that of `node`.  Twice is a Conflict, as is any other change."""
        ...

    def evict(self, pod: Pod, *, grace_s: int | None = None, dry_run: bool = False) -> Evicted:
        """Ask for an eviction of exactly this pod, by UID.  Twice is once."""
        ...

    def delete_pod(self, pod: Pod, *, grace_s: int) -> None:
        """Delete exactly this pod, by UID, without asking a budget: its machine dies anyway.

        Twice is once.
        """
        ...

    def announce(self, announcement: Announcement, at_s: float) -> None:
        """Make one Event of the pod or node.  Twice is two lines, and nothing depends on either."""
        ...

    def delete_node(self, name: str, uid: str) -> None:
        """See `DeleteNode`: twice is once.  A node that is not there, or is another, is fine."""
        ...


class Picture(Protocol):
    def current(self, version: int) -> Kubernetes | None:
        """The cluster as it was watched, if that is known to be current, and no older than this version of
        the record.  None: list it.  Repeatable."""
        ...


class Metrics(Protocol):
    def load(self, nodes: Sequence[KubeNode], pods: Sequence[Pod], window_s: int) -> Load:
        """How busy these workers are; missing, stale or absurd data give None and a problem.

        Repeatable.  Raises nothing that a source may suffer: that is a problem in the answer.
        """
        ...


class ReadinessCheck(Protocol):
    def ready_nodes(self) -> frozenset[str]:
        """The names of the nodes that a source other than the API calls Ready.

        Repeatable.  Raises Busy where that cannot be said: a source without an answer makes no node unready.
        """
        ...
