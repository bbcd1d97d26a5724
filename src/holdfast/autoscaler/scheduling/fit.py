"""Whether a node would take a pod, and if not, why.

`refusal` is the one place that knows.  It weighs requests, pods per node, node selectors,
required node affinity, taints, cordons and host ports.  What it does not weigh yet it names:
required pod affinity and anti-affinity, topology spread that must be kept, volume claims (whose
zone, or node, it cannot see), resource claims, other schedulers.  Such a doubt counts the safe way:

- A node that stands refuses the pod, so that the node under it is not removed; unless the pod is
  annotated as safe to evict, which is a person's word that it will find a place.
- A new node is expected to take it, because room must be made; but see `pack`: no other is
  asked for while an empty one stands by.  Pods that are gated, left to another scheduler or in
  want of claimed devices never ask for a node: a new one changes nothing for them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from holdfast.autoscaler.scale_down.drain import SAFE_TO_EVICT
from holdfast.autoscaler.scheduling.match import selects_node, untolerated
from holdfast.cloud.kubernetes import Pod, Taint
from holdfast.cloud.requests import Amount, requests_of

EPHEMERAL_STORAGE = "ephemeral-storage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What a node offers: one that stands, or one that a template of ours would make."""

    name: str
    free: Amount
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    ports: frozenset[int] = frozenset()
    """Host ports that are taken."""
    zone: str = ""
    pool: str = ""
    instance_id: str = ""
    cordoned: bool = False
    ready: bool = True
    empty: bool = False
    """Nothing runs there but what every node runs."""
    new: bool = False
    """It is still to come: nothing is there that could be in a pod's way."""


class Doubt(StrEnum):
    """What a pod asks for and these rules do not consider yet."""

    POD_AFFINITY = "required pod affinity"
    ANTI_AFFINITY = "required pod anti-affinity"
    SPREAD = "topology spread that must be kept"
    VOLUME = "a volume claim that may be tied to a zone or a node"


def doubts(pod: Pod) -> tuple[Doubt, ...]:
    spec, found = pod.spec, []
    if spec.affinity is not None:
        if spec.affinity.pod_affinity is not None and spec.affinity.pod_affinity.required:
            found.append(Doubt.POD_AFFINITY)
        if spec.affinity.pod_anti_affinity is not None and spec.affinity.pod_anti_affinity.required:
            found.append(Doubt.ANTI_AFFINITY)
    if any(each.when_unsatisfiable == "DoNotSchedule" for each in spec.topology_spread_constraints):
        found.append(Doubt.SPREAD)
    if has_claims(pod):
        found.append(Doubt.VOLUME)
    return tuple(found)


def has_claims(pod: Pod) -> bool:
    return any(v.persistent_volume_claim is not None or v.ephemeral is not None for v in pod.spec.volumes)


def not_for_us_to_place(pod: Pod) -> str:
    """Why no node that we could bring would help this pod."""
    spec = pod.spec
    if spec.scheduling_gates:
        return f"it waits for its scheduling gate {spec.scheduling_gates[0].name}"
    if spec.scheduler_name not in ("", "default-scheduler"):
        return f"it is left to the scheduler {spec.scheduler_name}, whose rules are not known"
    if spec.resource_claims:
        return "it asks for devices by resource claims, which are not considered yet"
    return ""


def host_ports(pod: Pod) -> frozenset[int]:
    return frozenset(
        port.host_port
        for container in (*pod.spec.containers, *pod.spec.init_containers)
        for port in container.ports
        if port.host_port
    )


def refusal(pod: Pod, room: Room) -> str:
    """Why this node would not take the pod; empty if it would.

    What stands before a colon is the kind of reason, the same for all nodes that have it.
    """
    return misfit(pod, room) or shortage(requests_of(pod), room.free)


def misfit(pod: Pod, room: Room, *, vouched: bool = False) -> str:
    """All of `refusal` but the amounts, which change while pods are being placed.

    `vouched`: a person said that what is not considered does not matter.
    """
    if not room.ready:
        return "not ready"
    if room.cordoned:
        return "cordoned"
    if why := unmatched(pod, room):
        return why
    if taken := host_ports(pod) & room.ports:
        return f"host port taken: {min(taken)}"
    if vouched:
        return ""
    why = not_for_us_to_place(pod)
    if not why and not room.new:
        why = next((f"it has {doubt}, which is not considered yet" for doubt in doubts(pod)), "")
    return why


def is_vouched_for(pod: Pod) -> bool:
    return pod.metadata.annotations.get(SAFE_TO_EVICT) == "true"


def unmatched(pod: Pod, room: Room) -> str:
    """What of the node's labels and taints keeps the pod off."""
    spec = pod.spec
    for key, value in spec.node_selector.items():
        if room.labels.get(key) != value:
            return f"no label {key}={value}"
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required if affinity is not None else None
    if required is not None and not selects_node(required, room.name, room.labels):
        return "its required node affinity does not match"
    taint = untolerated(room.taints, spec.tolerations) if room.taints else None
    if taint is not None:
        return f"taint {taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect} is not tolerated"
    return ""


def shortage(wants: Amount, free: Amount) -> str:
    """What there is too little of."""
    if wants.cpu_m > free.cpu_m and wants.cpu_m:
        return f"not enough CPU: {wants.cpu_m}m needed, {max(0, free.cpu_m)}m free"
    if wants.memory > free.memory and wants.memory:
        return f"not enough memory: {_mi(wants.memory)} needed, {_mi(max(0, free.memory))} free"
    if wants.pods > free.pods:
        return "no place for another pod"
    has = dict(free.extended)
    for name, amount in wants.extended:
        if name not in has:
            return f"no {name}"
        if amount > has[name]:
            return f"not enough {name}: {amount} needed, {max(0, has[name])} free"
    return ""


def _mi(size: int) -> str:
    return f"{size / (1 << 20):.0f}Mi"
