"""Whether a node would take a pod, and if not, why.

`refusal` knows what a node and a pod say themselves: requests, pods per node, node selectors, required
node affinity, taints, cordons and host ports.  `topology` knows what pods ask of each other, `volumes` what
their volumes ask.  What none of them weighs is named: claims that cannot be listed, some kinds of volumes
(`VolumeDoubt`), resource claims, other schedulers, namespaces that are chosen by labels which cannot be
listed.  Such a doubt counts the safe way:

- A node that stands refuses the pod, so that the node under it is not removed; unless the pod is
  annotated as safe to evict, which is a person's word that it will find a place.
- A new node is expected to take it, because room must be made; but see `pack`: no other is
  asked for while an empty one stands by.  Pods that are gated, left to another scheduler or in
  want of claimed devices never ask for a node: a new one changes nothing for them.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

import msgspec
from msgspec import structs

from holdfast.autoscaler.scale_down.drain import SAFE_TO_EVICT
from holdfast.autoscaler.scheduling.match import selects_node, untolerated
from holdfast.autoscaler.scheduling.terms import NO_RULES, PodRules
from holdfast.autoscaler.scheduling.volumes.needs import VolumeDoubt
from holdfast.cloud.kubernetes import Container, Pod, Taint
from holdfast.cloud.requests import Amount, requests_of
from holdfast.cloud.volumes import has_claims

EPHEMERAL_STORAGE = "ephemeral-storage"
ANY_ADDRESS = "0.0.0.0"
HOSTNAME = "kubernetes.io/hostname"


class HostPort(NamedTuple):
    number: int
    protocol: str
    address: str

    def clashes(self, other: "HostPort") -> bool:
        if (self.number, self.protocol) != (other.number, other.protocol):
            return False
        return self.address == other.address or ANY_ADDRESS in (self.address, other.address)


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """What a node offers: one that stands, or one that a template of ours would make."""

    name: str
    free: Amount
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    ports: frozenset[HostPort] = frozenset()
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
    runs: tuple[Pod, ...] = ()
    """Of a node to come: the DaemonSets' pods that it will run."""
    instance_type: str = ""
    """Of a node to come."""
    usd: float = 0.0
    """Of a node to come: what it is expected to cost an hour."""


def named(room: Room, name: str) -> Room:
    """A node like this one, by a name of its own."""
    return structs.replace(room, name=name, labels={**room.labels, HOSTNAME: name})


class Doubt(StrEnum):
    """What a pod asks for and these rules do not consider yet."""

    NAMESPACES = "pod affinity to namespaces that are chosen by their labels, which cannot be listed"
    VOLUME = "a volume claim that may be tied to a zone or a node"


def doubts(pod: Pod, rules: PodRules = NO_RULES) -> tuple[Doubt | VolumeDoubt, ...]:
    """`rules`: what the pod asks of others, as far as it could be read."""
    found: list[Doubt | VolumeDoubt] = [Doubt.NAMESPACES] if rules.unknown else []
    if rules.volumes is not None:
        found += rules.volumes.doubts
    elif has_claims(pod):
        found.append(Doubt.VOLUME)
    return tuple(found)


def not_for_us_to_place(pod: Pod) -> str:
    """Why no node that we could bring would help this pod."""
    spec = pod.spec
    if spec.scheduling_gates:
        return f"it waits for its scheduling gate {spec.scheduling_gates[0].name}"
    if spec.scheduler_name not in ("", "default-scheduler"):
        return f"it is left to the scheduler {spec.scheduler_name}, whose rules are not known"
    if spec.resource_claims:
        return "it asks for devices by resource claims, which are not considered yet"
    if has_claims(pod) and any(words in pod.scheduler_says for words in UNBOUND):
        return "a claim of its is not bound, and no node changes that"
    return ""


UNBOUND = ("unbound immediate PersistentVolumeClaims", "persistentvolumeclaim ")
"""What the scheduler says of claims that must be bound, or be there, before it looks at any node."""


def host_ports(pod: Pod) -> frozenset[HostPort]:
    found = NO_PORTS
    for container in pod.spec.containers if not pod.spec.init_containers else _staying(pod):
        for port in container.ports:
            if port.host_port:
                taken = HostPort(port.host_port, port.protocol or "TCP", port.host_ip or ANY_ADDRESS)
                found = found | {taken}
    return found


NO_PORTS: frozenset[HostPort] = frozenset()


def _staying(pod: Pod) -> Iterable[Container]:
    """Of the init containers the sidecars: the others' ports are free again before any other runs."""
    sidecars = (each for each in pod.spec.init_containers if each.restart_policy == "Always")
    return (*pod.spec.containers, *sidecars)


def taken_port(wanted: frozenset[HostPort], taken: frozenset[HostPort]) -> str:
    """The first host port that is wanted and taken: on the same address, or where either means all."""
    clashes = (one for one in sorted(wanted) for other in taken if one.clashes(other))
    return next((f"host port taken: {each.number}" for each in clashes), "")


def refusal(pod: Pod, room: Room, rules: PodRules = NO_RULES) -> str:
    """Why this node would not take the pod; empty if it would.

    What stands before a colon is the kind of reason, the same for all nodes that have it.
    """
    return misfit(pod, room, rules=rules) or shortage(requests_of(pod), room.free)


def misfit(pod: Pod, room: Room, *, vouched: bool = False, rules: PodRules = NO_RULES) -> str:
    """All of `refusal` but the amounts, which change while pods are being placed.

    `vouched`: a person said that what is not considered does not matter.
    """
    if not room.ready:
        return "not ready"
    if room.cordoned:
        return "cordoned"
    if why := unmatched(pod, room):
        return why
    if why := taken_port(host_ports(pod), room.ports):
        return why
    if rules.volumes is not None and (why := rules.volumes.misfit(room.name, room.labels)):
        return why
    if vouched:
        return ""
    why = not_for_us_to_place(pod)
    if not why and not room.new:
        why = next((f"it has {doubt}, which is not considered yet" for doubt in doubts(pod, rules)), "")
    return why


def is_vouched_for(pod: Pod) -> bool:
    return pod.metadata.annotations.get(SAFE_TO_EVICT) == "true"


def unmatched(pod: Pod, room: Room) -> str:
    """What of the node's labels and taints keeps the pod off."""
    if why := unselected(pod, room):
        return why
    taint = untolerated(room.taints, pod.spec.tolerations) if room.taints else None
    if taint is not None:
        return f"taint {taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect} is not tolerated"
    return ""


def unselected(pod: Pod, room: Room) -> str:
    """Why the pod's own choice of nodes leaves this one out."""
    spec = pod.spec
    for key, value in spec.node_selector.items():
        if room.labels.get(key) != value:
            return f"no label {key}={value}"
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required if affinity is not None else None
    if required is not None and not selects_node(required, room.name, room.labels):
        return "its required node affinity does not match"
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
