"""Nodes, pods and budgets as the Kubernetes API sends them: only the fields that we need.

The names and nesting are the API's, so that 30,000 pods are decoded straight into these and
nothing is copied.  `gc=False`: they hold no cycles, and the collector need not visit them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec


class Value(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """Every absent field means what it means in Kubernetes."""


class Owner(Value, frozen=True):
    kind: str = ""
    name: str = ""
    api_version: str = ""
    controller: bool = False


class Meta(Value, frozen=True):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[Owner, ...] = ()
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None


class Taint(Value, frozen=True):
    key: str
    value: str = ""
    effect: str = "NoSchedule"

    def __str__(self) -> str:
        """As kubectl writes it."""
        return f"{self.key}{f'={self.value}' if self.value else ''}:{self.effect}"


class Toleration(Value, frozen=True):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class Requirement(Value, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class SelectorTerm(Value, frozen=True):
    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeSelector(Value, frozen=True):
    node_selector_terms: tuple[SelectorTerm, ...] = ()


class NodeAffinity(Value, frozen=True):
    required: NodeSelector | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class LabelSelector(Value, frozen=True):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()


class PodAffinityTerm(Value, frozen=True):
    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class PodAffinity(Value, frozen=True):
    required: tuple[PodAffinityTerm, ...] = msgspec.field(
        default=(), name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Value, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Spread(Value, frozen=True):
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    max_skew: int = 1
    min_domains: int | None = None
    label_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"


class Port(Value, frozen=True):
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class Resources(Value, frozen=True):
    requests: dict[str, str | int | float] = {}


class Container(Value, frozen=True):
    resources: Resources = Resources()
    ports: tuple[Port, ...] = ()
    restart_policy: str = ""
    """Of an init container: `Always` makes it a sidecar that stays."""


class EmptyDir(Value, frozen=True):
    medium: str = ""


class Volume(Value, frozen=True):
    name: str = ""
    empty_dir: EmptyDir | None = None
    host_path: Mapping[str, Any] | None = None
    persistent_volume_claim: Mapping[str, Any] | None = None
    ephemeral: Mapping[str, Any] | None = None
    aws_elastic_block_store: Mapping[str, Any] | None = None
    gce_persistent_disk: Mapping[str, Any] | None = None
    iscsi: Mapping[str, Any] | None = None
    rbd: Mapping[str, Any] | None = None


class Gate(Value, frozen=True):
    name: str = ""


class PodSpec(Value, frozen=True):
    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: dict[str, str | int | float] = {}
    resources: Resources = Resources()
    """Of the pod as a whole: where given, it outranks the sum of its containers."""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[Spread, ...] = ()
    volumes: tuple[Volume, ...] = ()
    priority_class_name: str = ""
    priority: int = 0
    preemption_policy: str = "PreemptLowerPriority"
    termination_grace_period_seconds: int = 30
    scheduler_name: str = "default-scheduler"
    scheduling_gates: tuple[Gate, ...] = ()
    resource_claims: tuple[Any, ...] = ()


class Condition(Value, frozen=True):
    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class PodStatus(Value, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    nominated_node_name: str = ""


class Pod(Value, frozen=True):
    metadata: Meta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def called(self) -> str:
        """As people write it: namespace/name."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def scheduler_says(self) -> str:
        """Why the scheduler found no node for it, in its own words."""
        return next((c.message for c in self.status.conditions if c.type == "PodScheduled"), "")

    @property
    def unscheduled_since(self) -> str:
        """When its condition PodScheduled became what it is, as the API writes it; else when it was made.  A
        pod whose gates are lifted keeps the time of its gates."""
        since = (c.last_transition_time for c in self.status.conditions if c.type == "PodScheduled")
        return next(since, None) or self.metadata.creation_timestamp


class NodeSpec(Value, frozen=True):
    provider_id: str = msgspec.field(default="", name="providerID")
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class Address(Value, frozen=True):
    type: str = ""
    address: str = ""


class NodeStatus(Value, frozen=True):
    allocatable: dict[str, str] = {}
    capacity: dict[str, str] = {}
    conditions: tuple[Condition, ...] = ()
    addresses: tuple[Address, ...] = ()
    """For finding a node's metrics, and to spare a machine whose node does not name it.  Nothing is ended
    because of an address: addresses are used again."""


class KubeNode(Value, frozen=True):
    metadata: Meta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def is_ready(self) -> bool:
        return any(c.type == "Ready" and c.status == "True" for c in self.status.conditions)


class Namespace(Value, frozen=True):
    metadata: Meta


class BudgetSpec(Value, frozen=True):
    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None

    @property
    def allows_nothing(self) -> bool:
        """Whatever the number of replicas: no pod may ever be evicted."""
        return self.max_unavailable in (0, "0", "0%") or self.min_available == "100%"


class BudgetStatus(Value, frozen=True):
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0


class Budget(Value, frozen=True):
    """A PodDisruptionBudget."""

    metadata: Meta
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()


class Eviction(StrEnum):
    ACCEPTED = "accepted"
    GONE = "gone"
    """No such pod, or another one by that name."""
    REFUSED = "refused"
    """A budget does not allow it now."""
    IMPOSSIBLE = "impossible"
    """Two budgets on one pod: the API will never allow it."""


@dataclass(frozen=True, slots=True)
class Evicted:
    outcome: Eviction
    message: str = ""
    retry_after_s: float = 0.0


FINISHED = frozenset({"Succeeded", "Failed"})
"""Phases of a pod that has run to its end."""

CORDON_OWNERS = "holdfast.dev/cordon-owners"
"""Annotation: the actions that want this node left alone, separated by commas."""
CORDON_FOUND = "holdfast.dev/cordon-found"
"""Annotation: the node was cordoned before any action of ours, and stays so after us."""
UNREACHABLE = "Kubernetes API unreachable"
"""How every message begins that tells of a question without an answer."""
JOINING_TAINT = "holdfast.dev/joining"
"""Every node of ours joins with this; it is lifted once the record names the instance."""
INSTANCE_LABEL = "holdfast.dev/instance-id"
POOL_LABEL = "holdfast.dev/pool"
CAPACITY_LABEL = "holdfast.dev/capacity-type"
"""`spot` or `on-demand`."""
DO_NOT_EVICT = "holdfast.dev/do-not-evict"
SCALE_DOWN_DISABLED = "holdfast.dev/scale-down-disabled"
"""Annotation: a person wants this node to stay, whatever runs on it."""
DO_NOT_DISRUPT = "holdfast.dev/do-not-disrupt"
"""Annotation of pods and nodes: they are left alone by all that is done by choice.  What the cloud takes back
is no choice."""


def instance_id_of(node: KubeNode) -> str:
    """The machine behind a node: by provider id or instance label, never by address.  Empty: unknown."""
    last = node.spec.provider_id.rpartition("/")[2]
    if node.spec.provider_id.startswith("aws://") and last.startswith("i-"):
        return last
    return node.metadata.labels.get(INSTANCE_LABEL, "")


def cordon_owners(node: KubeNode) -> frozenset[str]:
    return frozenset(filter(None, node.metadata.annotations.get(CORDON_OWNERS, "").split(",")))


def kept_by_annotation(node: KubeNode) -> list[str]:
    """The annotations by which a person keeps this node."""
    names = (SCALE_DOWN_DISABLED, DO_NOT_DISRUPT)
    return [name for name in names if node.metadata.annotations.get(name) == "true"]


def is_joining(node: KubeNode) -> bool:
    """It came with our taint, which is not lifted yet."""
    return any(taint.key == JOINING_TAINT for taint in node.spec.taints)


def takes_pods(node: KubeNode) -> bool:
    """Ready, and admitted: one that is still joining has no load worth measuring."""
    return node.is_ready and not is_joining(node)
