"""Workloads, pods and nodes of the simulated cluster: plain things that change, and their API values.

A value as the API sends it is made when it is first asked for, and kept until something changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from typing import Final

import msgspec

from holdfast.cloud.kubernetes import (
    DO_NOT_EVICT,
    Affinity,
    Condition,
    Container,
    EmptyDir,
    KubeNode,
    LabelSelector,
    Meta,
    NodeSpec,
    NodeStatus,
    Owner,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    PodStatus,
    Resources,
    Taint,
    Toleration,
    Volume,
)
from holdfast.sim.ec2.machine import Machine

EVERYTHING: Final = (Toleration(operator="Exists"),)
RUNNING: Final = PodStatus(
    phase="Running",
    conditions=(Condition(type="PodScheduled", status="True"), Condition(type="Ready", status="True")),
)
STARTING: Final = PodStatus(
    phase="Pending",
    conditions=(Condition(type="PodScheduled", status="True"), Condition(type="Ready", status="False")),
)
CLAIM: Final = "data-{}"
"""What a pod calls its claim."""
UNSEEN: Final = PodStatus(phase="Pending")
"""The scheduler has not looked at it yet."""


def timestamp(at_s: float) -> str:
    """A moment as Kubernetes writes it."""
    return f"{datetime.fromtimestamp(int(at_s), UTC):%Y-%m-%dT%H:%M:%SZ}"


class Owned(StrEnum):
    """The kind of owner that brings a pod back."""

    DEPLOYMENT = "ReplicaSet"
    """At once, under another name."""
    STATEFUL_SET = "StatefulSet"
    """Under the same name, once the old one is really gone."""
    DAEMON_SET = "DaemonSet"
    """One on every node."""
    BARE = ""
    """A bare pod, without an owner: it does not come back."""


@dataclass(eq=False, kw_only=True)
class Workload:
    """Pods that are alike."""

    name: str
    kind: Owned = Owned.DEPLOYMENT
    namespace: str = "default"
    replicas: int = 1
    cpu_m: int = 500
    memory: int = 256 << 20
    busy: float = 0.5
    """How much of its CPU request a pod really uses."""
    grace_s: int = 30
    priority_class: str = ""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerates: frozenset[str] = frozenset()
    """Taints that do not keep it away, by their keys."""
    local_storage: bool = False
    do_not_evict: bool = False
    unbound: bool = False
    """It has a claim that is never bound: no node takes it."""
    in_doubt: bool = False
    """And that claim is of a kind that is not considered."""
    claims: bool = False
    """Each pod has a claim of its own, bound to a volume in the zone where the pod first runs."""
    scheduler_says: str = ""
    """Why no node takes it, in the scheduler's words."""
    apart: bool = False
    """No two of them on one node."""
    pods: dict[str, "SimPod"] = field(default_factory=dict)
    """By name."""

    @property
    def labels(self) -> dict[str, str]:
        return {"app": self.name}

    @cached_property
    def spec(self) -> PodSpec:
        requests: dict[str, str | int | float] = {"cpu": f"{self.cpu_m}m", "memory": str(self.memory)}
        return PodSpec(
            containers=(Container(resources=Resources(requests=requests)),),
            node_selector=dict(self.node_selector),
            tolerations=EVERYTHING
            if self.kind is Owned.DAEMON_SET
            else tuple(Toleration(key=key, operator="Exists") for key in sorted(self.tolerates)),
            volumes=self._volumes(),
            affinity=self._affinity() if self.apart else None,
            priority_class_name=self.priority_class,
            termination_grace_period_seconds=self.grace_s,
        )

    def _affinity(self) -> Affinity:
        term = PodAffinityTerm(
            topology_key="kubernetes.io/hostname", label_selector=LabelSelector(match_labels=self.labels)
        )
        return Affinity(pod_anti_affinity=PodAffinity(required=(term,)))

    def _volumes(self) -> tuple[Volume, ...]:
        scratch = (Volume(name="scratch", empty_dir=EmptyDir()),) if self.local_storage else ()
        return scratch


@dataclass(frozen=True, slots=True)
class BudgetRule:
    """A disruption budget over the pods with this label."""

    name: str
    app: str
    namespace: str = "default"
    min_available: int | None = None
    max_unavailable: int | None = None


class SimPod:
    __slots__ = ("_value", "created_s", "deleting_s", "name", "node", "ready", "status", "uid", "workload")

    def __init__(self, workload: Workload, name: str, uid: str, now_s: float) -> None:
        self.workload, self.name, self.uid, self.created_s = workload, name, uid, now_s
        self.node: SimNode | None = None
        self.ready = False
        self.deleting_s = 0.0
        self.status = UNSEEN
        self._value: Pod | None = None

    @property
    def healthy(self) -> bool:
        return self.ready and not self.deleting_s and self.node is not None and self.node.ready

    def changed(self) -> None:
        self._value = None

    def value(self) -> Pod:
        if self._value is None:
            self._value = self._made()
        return self._value

    def _made(self) -> Pod:
        workload = self.workload
        owners = (
            (Owner(kind=workload.kind, name=workload.name, api_version="apps/v1", controller=True),)
            if workload.kind
            else ()
        )
        spec = workload.spec
        if workload.claims or workload.unbound:
            claim = Volume(name="data", persistent_volume_claim={"claimName": CLAIM.format(self.name)})
            spec = msgspec.structs.replace(spec, volumes=(*spec.volumes, claim))
        if self.node is not None:
            spec = msgspec.structs.replace(spec, node_name=self.node.name)
        return Pod(
            metadata=Meta(
                name=self.name,
                namespace=workload.namespace,
                uid=self.uid,
                labels=workload.labels,
                annotations={DO_NOT_EVICT: "true"} if workload.do_not_evict else {},
                owner_references=owners,
                creation_timestamp=timestamp(self.created_s),
                deletion_timestamp=timestamp(self.deleting_s) if self.deleting_s else None,
            ),
            spec=spec,
            status=self.status,
        )


@dataclass(eq=False, kw_only=True)
class SimNode:
    name: str
    uid: str
    zone: str
    machine: Machine | None
    """None: not a machine of this cloud."""
    provider_id: str
    labels: dict[str, str]
    cpu_m: int
    memory: int
    pods_max: int
    created_s: float
    taints: tuple[Taint, ...] = ()
    annotations: dict[str, str] = field(default_factory=dict)
    cordoned: bool = False
    ready: bool = False
    reachable: bool = True
    """Its kubelet lives.  A node may be unreachable long before the cluster calls it NotReady."""
    version: int = 1
    pods: dict[str, SimPod] = field(default_factory=dict)
    """By UID."""
    used_cpu_m: int = 0
    used_memory: int = 0
    _value: KubeNode | None = None

    def takes(self, workload: Workload) -> bool:
        """Whether a pod of this workload may be placed here, and fits."""
        return (
            self.ready
            and not self.cordoned
            and all(taint.key in workload.tolerates for taint in self.taints)
            and self.used_cpu_m + workload.cpu_m <= self.cpu_m
            and self.used_memory + workload.memory <= self.memory
            and len(self.pods) < self.pods_max
            and all(self.labels.get(key) == value for key, value in workload.node_selector.items())
            and not workload.unbound
            and not (workload.apart and any(pod.workload is workload for pod in self.pods.values()))
        )

    def put(self, pod: SimPod) -> None:
        self.pods[pod.uid] = pod
        self.used_cpu_m += pod.workload.cpu_m
        self.used_memory += pod.workload.memory

    def drop(self, pod: SimPod) -> None:
        if self.pods.pop(pod.uid, None) is not None:
            self.used_cpu_m -= pod.workload.cpu_m
            self.used_memory -= pod.workload.memory

    def changed(self, version: int) -> None:
        self.version, self._value = version, None

    def value(self) -> KubeNode:
        if self._value is None:
            self._value = self._made()
        return self._value

    def _made(self) -> KubeNode:
        offers = {"cpu": f"{self.cpu_m}m", "memory": str(self.memory), "pods": str(self.pods_max)}
        return KubeNode(
            metadata=Meta(
                name=self.name,
                uid=self.uid,
                resource_version=str(self.version),
                labels=self.labels,
                annotations=dict(self.annotations),
                creation_timestamp=timestamp(self.created_s),
            ),
            spec=NodeSpec(provider_id=self.provider_id, unschedulable=self.cordoned, taints=self.taints),
            status=NodeStatus(
                allocatable=offers,
                capacity=offers,
                conditions=(Condition(type="Ready", status="True" if self.ready else "Unknown"),),
            ),
        )
