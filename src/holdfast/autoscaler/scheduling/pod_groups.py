"""Pods that differ in nothing that decides where they may run: considered once, placed by arithmetic."""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from holdfast.autoscaler.scale_down.drain import SAFE_TO_EVICT, controller_of
from holdfast.autoscaler.scheduling.fit import (
    Doubt,
    HostPort,
    doubts,
    host_ports,
    is_vouched_for,
    not_for_us_to_place,
)
from holdfast.autoscaler.scheduling.node_info import asks
from holdfast.autoscaler.scheduling.terms import NO_RULES, PodRules
from holdfast.autoscaler.scheduling.topology import PodClass, Topology
from holdfast.autoscaler.scheduling.volumes.needs import VolumeDoubt
from holdfast.cloud.kubernetes import Pod, PodSpec
from holdfast.cloud.requests import Amount, requests_of
from holdfast.cloud.volumes import has_claims

_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True, eq=False)
class PodGroup:
    pods: tuple[Pod, ...]
    wants: Amount
    """Of one."""
    doubts: tuple[Doubt | VolumeDoubt, ...]
    ports: frozenset[HostPort]
    rules: PodRules = NO_RULES
    """What they ask of other pods."""

    @property
    def example(self) -> Pod:
        return self.pods[0]

    @property
    def called(self) -> str:
        others = len(self.pods) - 1
        return f"{self.example.called} and {others} like it" if others else self.example.called

    @property
    def owner(self) -> str:
        """What made them, as people write it."""
        return owner_of(self.example)


def owner_of(pod: Pod) -> str:
    owner = controller_of(pod)
    return f"{pod.metadata.namespace}/{owner.kind} {owner.name}" if owner else pod.called


class PodTemplates:
    """Pods, and which of them say the same in their specs: found while each is looked at first."""

    def __init__(self, pods: Iterable[Pod] = ()) -> None:
        self.pods: list[Pod] = []
        self.asking: list[Pod] = []
        """Those that ask for something of other pods, or of their volumes."""
        self.sets: list[list[Pod]] = []
        """All pods; in each set they differ in their labels at most, as far as it decides anything."""
        self._lately: list[tuple[PodSpec, list[Pod]]] = []
        for pod in pods:
            self.add(pod)

    def add(self, pod: Pod) -> None:
        self.pods.append(pod)
        spec = pod.spec
        if asks(pod):
            self.asking.append(pod)
        elif not spec.resource_claims and SAFE_TO_EVICT not in pod.metadata.annotations:
            for before, members in self._lately:
                if _say_the_same(spec, before):
                    members.append(pod)
                    return
            self._lately.insert(0, (spec, alone := [pod]))
            del self._lately[LATELY_MAX:]
            self.sets.append(alone)
            return
        self.sets.append([pod])


LATELY_MAX = 4
"""Pods of one owner are listed together, or in turn with a few others."""


def group_pods(templates: PodTemplates, topology: Topology) -> list[PodGroup]:
    """The pods in groups, in the order of their first."""
    groups: dict[tuple[bytes, PodClass | None], list[Pod]] = {}
    for pods in templates.sets:
        key = _key(pods[0])
        if topology.is_idle:
            groups.setdefault((key, None), []).extend(pods)
            continue
        for pod in pods:  # labels decide only where some rule asks for them
            groups.setdefault((key, topology.class_of(pod)), []).append(pod)
    return [_group(tuple(group), topology) for group in groups.values()]


def _say_the_same(one: PodSpec, other: PodSpec) -> bool:
    """Whether all is equal that makes the key of such pods; asked of so many that it is written out."""
    return (
        one.containers == other.containers
        and one.tolerations == other.tolerations
        and one.node_selector == other.node_selector
        and one.init_containers == other.init_containers
        and one.resources == other.resources
        and one.overhead == other.overhead
        and one.scheduler_name == other.scheduler_name
        and one.scheduling_gates == other.scheduling_gates
    )


def _group(pods: tuple[Pod, ...], topology: Topology) -> PodGroup:
    example, rules = pods[0], topology.rules_of(pods[0])
    return PodGroup(pods, requests_of(example), doubts(example, rules), host_ports(example), rules)


def _key(pod: Pod) -> bytes:
    """Names of volumes and claims differ within a set of replicas, and decide nothing by themselves."""
    spec = pod.spec
    return _encode(
        (
            spec.containers,
            spec.init_containers,
            spec.resources,
            spec.overhead,
            spec.node_selector,
            spec.affinity,
            spec.tolerations,
            spec.topology_spread_constraints,
            has_claims(pod),
            spec.scheduler_name,
            spec.scheduling_gates,
            len(spec.resource_claims),
            is_vouched_for(pod),
            not_for_us_to_place(pod),
            owner_of(pod) if doubts(pod) else "",
        )
    )


def largest_first(groups: list[PodGroup]) -> list[PodGroup]:
    """By their CPU and memory together, each beside the greediest's: small ones fill the gaps."""
    cpu_m = max([1, *(group.wants.cpu_m for group in groups)])
    memory = max([1, *(group.wants.memory for group in groups)])

    def share(group: PodGroup) -> float:
        return group.wants.cpu_m / cpu_m + group.wants.memory / memory

    return sorted(groups, key=share, reverse=True)


def greediest_first(groups: Iterable[PodGroup], node: Amount) -> list[PodGroup]:
    """By the greatest share of such a node that one of them takes of anything."""

    def share(group: PodGroup) -> float:
        wants = group.wants
        return max(wants.cpu_m / max(1, node.cpu_m), wants.memory / max(1, node.memory))

    return sorted(groups, key=share, reverse=True)


def leaders_first(groups: list[PodGroup], topology: Topology) -> list[PodGroup]:
    """As they are, but pods that go with others of them come after these: before, they find no place."""
    if topology.is_idle or not any(group.rules.together for group in groups):
        return groups
    awaited = {term for group in groups for term in topology.class_of(group.example).selected_by}

    def follows(group: PodGroup) -> bool:
        meta, together = group.example.metadata, group.rules.together
        of_its_own = all(term.selects(meta.namespace, meta.labels) for term in together)
        return not of_its_own and any(term in awaited for term in together)

    return sorted(groups, key=follows)
