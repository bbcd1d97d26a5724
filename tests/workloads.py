"""Pods, nodes, budgets and machines for tests: what is not said is ordinary.

`spec` and `status` take fields as the Kubernetes API spells them, for all that has no argument.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.snapshot.build import Listings
from holdfast.cloud import Instance, Market, Shape, State
from holdfast.cloud.kubernetes import (
    CORDON_FOUND,
    CORDON_OWNERS,
    INSTANCE_LABEL,
    JOINING_TAINT,
    POOL_LABEL,
    Budget,
    KubeNode,
    Pod,
    instance_id_of,
)
from holdfast.cloud.launches import launch_token

UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/3 nodes are available",
}


def pod(
    name: str = "web-1",
    *,
    namespace: str = "shop",
    cpu: str = "100m",
    memory: str = "64Mi",
    requests: Mapping[str, str] | None = None,
    node: str = "",
    owner: str = "ReplicaSet/web",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    priority_class: str = "",
    phase: str = "",
    unschedulable: bool = False,
    terminating: bool = False,
    grace_s: int = 30,
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
) -> Pod:
    """Running on `node`; without one, Pending.  `owner` is kind/name, empty for none."""
    kind, _, owner_name = owner.partition("/")
    conditions = [{"type": "Ready", "status": "True"}] if node else [UNSCHEDULABLE] if unschedulable else []
    asked = requests if requests is not None else {"cpu": cpu, "memory": memory}
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": f"uid-{namespace}-{name}",
                "labels": dict(labels or {}),
                "annotations": dict(annotations or {}),
                "ownerReferences": [{"kind": kind, "name": owner_name, "controller": True}] if kind else [],
                "deletionTimestamp": "2026-01-01T00:00:00Z" if terminating else None,
            },
            "spec": {
                "nodeName": node,
                "containers": [{"resources": {"requests": dict(asked)}}],
                "priorityClassName": priority_class,
                "terminationGracePeriodSeconds": grace_s,
                **(spec or {}),
            },
            "status": {
                "phase": phase or ("Running" if node else "Pending"),
                "conditions": conditions,
                **(status or {}),
            },
        },
        Pod,
    )


def pending(name: str = "web-1", **said: Any) -> Pod:
    """The scheduler looked, and found no node for it."""
    return pod(name, unschedulable=True, **said)


def daemon(name: str = "agent-1", **said: Any) -> Pod:
    return pod(name, **{"namespace": "kube-system", "owner": "DaemonSet/agent", **said})


def node(
    name: str = "n-1",
    *,
    instance_id: str = "",
    pool: str = "default",
    zone: str = "a",
    cpu: str = "2",
    memory: str = "4Gi",
    pods: int = 110,
    resources: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    taints: Iterable[Mapping[str, str]] = (),
    ready: bool | None = True,
    cordoned: bool = False,
    cordon_owners: Sequence[str] = (),
    cordon_found: bool = False,
    joining: bool = False,
    control_plane: bool = False,
    uid: str = "",
) -> KubeNode:
    """`instance_id`: of the machine behind it; `n-1` is `i-1` unless told, `-` means none.

    `ready` None: its kubelet is not heard of.  `cordon_owners`: cordoned by these actions.
    """
    machine = "" if instance_id == "-" else instance_id or name.replace("n-", "i-", 1)
    joining_taint = {"key": JOINING_TAINT, "effect": "NoSchedule"}
    noted = {CORDON_OWNERS: ",".join(cordon_owners)} if cordon_owners else {}
    found = {CORDON_FOUND: "true"} if cordon_found else {}
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "uid": uid or f"uid-{name}",
                "resourceVersion": "1",
                "labels": {
                    "kubernetes.io/hostname": name,
                    "kubernetes.io/os": "linux",
                    "kubernetes.io/arch": "amd64",
                    "topology.kubernetes.io/zone": zone,
                    **({POOL_LABEL: pool, INSTANCE_LABEL: machine} if machine else {}),
                    **({"node-role.kubernetes.io/control-plane": "true"} if control_plane else {}),
                    **(labels or {}),
                },
                "annotations": {**noted, **found, **(annotations or {})},
            },
            "spec": {
                "providerID": f"aws:///{zone}/{machine}" if machine else f"k3s://{name}",
                "unschedulable": cordoned or bool(cordon_owners),
                "taints": [*taints, *([joining_taint] if joining else [])],
            },
            "status": {
                "allocatable": {"cpu": cpu, "memory": memory, "pods": str(pods), **(resources or {})},
                "conditions": [
                    {"type": "Ready", "status": "Unknown" if ready is None else str(ready)},
                ],
            },
        },
        KubeNode,
    )


def budget(
    name: str = "web",
    *,
    namespace: str = "shop",
    selector: Mapping[str, str] | None = None,
    expressions: Iterable[Mapping[str, Any]] = (),
    matches_nothing: bool = False,
    allowed: int = 0,
    healthy: int = 1,
    desired: int = 1,
) -> Budget:
    """Without a selector it matches every pod of its namespace; `matches_nothing`: it has none at all."""
    spec = {"selector": {"matchLabels": dict(selector or {}), "matchExpressions": list(expressions)}}
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {} if matches_nothing else spec,
            "status": {
                "disruptionsAllowed": allowed,
                "currentHealthy": healthy,
                "desiredHealthy": desired,
            },
        },
        Budget,
    )


def instance(
    instance_id: str = "i-1",
    *,
    zone: str = "a",
    state: State = State.RUNNING,
    instance_type: str = "t3.medium",
    market: Market = Market.SPOT,
    launched_s: int = 0,
    pool: str = "default",
    action_id: str = "1000-req-0",
    token: str | None = None,
    private_ip: str = "",
    private_dns: str = "",
) -> Instance:
    """Launched by an action of ours, unless `action_id` is empty or `token` is another's."""
    return Instance(
        instance_id,
        state,
        zone,
        instance_type,
        market,
        launched_s=launched_s,
        pool=pool,
        action_id=action_id,
        token=launch_token(action_id, 1, 1) if token is None else token,
        private_ip=private_ip,
        private_dns=private_dns,
    )


SHAPES = {"t3.medium": Shape(2_000, 4 << 30, pods=17)}
ZONES = {"subnet-a": "a", "subnet-b": "b", "subnet-c": "c"}


def settings(**said: Any) -> Settings:
    """One pool `default` of t3.medium over three zones, unless told."""
    return Settings(**{"pools": (Pool(subnet_ids=tuple(ZONES)),), **said})


def listings(*nodes: KubeNode, pods: Sequence[Pod] = (), **said: Any) -> Listings:
    """One look at these nodes.  Behind each that names a machine stands one, unless `instances` are given."""
    machines = [
        instance(machine, zone=each.metadata.labels.get("topology.kubernetes.io/zone", ""))
        for each in nodes
        if (machine := instance_id_of(each))
    ]
    usual = {
        "owner": "req-1",
        "instances": machines,
        "settings": settings(),
        "shapes": SHAPES,
        "zones": ZONES,
    }
    return Listings(nodes=nodes, pods=pods, **{**usual, **said})
