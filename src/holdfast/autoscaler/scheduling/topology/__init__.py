"""Which pods are where, for the rules that pods make about each other.

Pod affinity, anti-affinity (of the pod, and of pods that run already) and topology spread, as the scheduler
filters by them; and what their volumes leave to each other (`volumes`).  Everything is counted once and then
kept up: a pod that is placed changes a few numbers.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from holdfast.autoscaler.scheduling.fit import HOSTNAME, Room, unselected
from holdfast.autoscaler.scheduling.match import untolerated
from holdfast.autoscaler.scheduling.node_info import NodeInfo, asks
from holdfast.autoscaler.scheduling.terms import (
    NamespaceLabels,
    PodRules,
    RulesReader,
    SpreadRule,
    Term,
    TermsInPlay,
)
from holdfast.autoscaler.scheduling.topology.asked import Asked
from holdfast.autoscaler.scheduling.topology.domains import DomainCounts, Eligible, Labels, SpreadCounts
from holdfast.autoscaler.scheduling.volumes import VolumeCounts
from holdfast.autoscaler.scheduling.volumes.needs import NO_NEEDS, VolumeNeeds
from holdfast.autoscaler.scheduling.volumes.reader import VolumesReader, is_weighed
from holdfast.cloud.kubernetes import POOL_LABEL, Pod
from holdfast.cloud.volumes import VolumeLists


@dataclass(frozen=True, slots=True, eq=False)
class PodClass:
    """Pods that no rule in play tells apart."""

    selected_by: frozenset[Term]
    """Of all terms in play."""
    leaving: bool
    rules: PodRules
    is_tied: bool
    """It matters to some rule in which domain they are, of a topology that is not the node itself."""
    is_plain: bool = False
    """No rule asks for them, and they ask for nothing: they are not counted."""
    needs: VolumeNeeds = NO_NEEDS
    """What their volumes ask for."""
    counted_as: "PodClass | None" = None
    """The same pods without their volumes: rules between pods look no further."""


class Counts(Protocol):
    topology_key: str

    def add(self, node: str, labels: Labels, count: int) -> None: ...


class Topology:
    """The pods of a cluster by the domains of its nodes."""

    def __init__(
        self,
        nodes: Iterable[tuple[Room, NodeInfo]] = (),
        to_place: Iterable[Pod] = (),
        namespaces: NamespaceLabels | None = None,
        volumes: VolumeLists | None = None,
    ) -> None:
        """`namespaces`: their labels by name.  None: they could not be listed, as for `volumes`."""
        self._reader = RulesReader(namespaces)
        self._volumes = VolumeCounts(volumes.csi_nodes if volumes is not None else ())
        self._rooms: dict[str, Room] = {}
        self._classes: dict[tuple[int, bool, int], PodClass] = {}
        self._on: dict[PodClass, Counter[str]] = {}
        self._feeds: dict[PodClass, list[Counts]] = {}
        self._terms: dict[tuple[Term, ...], tuple[DomainCounts, ...]] = {}
        self._spreads: dict[tuple[object, ...], SpreadCounts] = {}
        self._rule_of: dict[int, SpreadRule] = {}
        """By the id of the counts."""
        self._eligible: dict[tuple[object, ...], tuple[Eligible, Pod, SpreadRule, frozenset[str]]] = {}
        """With a pod and a rule that say which nodes these are."""
        self._standing: dict[Term, DomainCounts] = {}
        self._with_volumes: dict[tuple[PodClass, VolumeNeeds], PodClass] = {}
        self._journal: list[tuple[str, PodClass | None, int]] = []
        to_place, nodes = tuple(to_place), tuple(nodes)
        asking = [pod for pod in to_place if asks(pod)]
        for _, info in nodes:
            asking += info.asking
        all_rules = {id(rules): rules for rules in map(self._reader.rules_of, asking)}.values()
        self._terms_in_play = TermsInPlay(term for rules in all_rules for term in rules.terms)
        having = [pod for pod in asking if is_weighed(pod)]
        self._volumes_reader = VolumesReader(volumes, having)
        has_volumes = any(self._volumes_reader.needs_of(pod) is not None for pod in having)
        self.is_idle = not has_volumes and not any(rules.terms for rules in all_rules)
        """No pod asks anything of another, and none has a claim that is known."""
        if not self.is_idle:
            for pod in to_place:
                self.class_of(pod)
            ask = {id(pod) for pod in asking}
            for room, info in nodes:
                self.add_node(room)
                for pod in self._terms_in_play.counted(info.pods, ask):
                    self.put(room.name, self.class_of(pod), 1)
        self._journal.clear()

    def rules_of(self, pod: Pod) -> PodRules:
        rules, needs = self._reader.rules_of(pod), self._volumes_reader.needs_of(pod)
        return rules if needs is NO_NEEDS else replace(rules, volumes=needs)

    def class_of(self, pod: Pod) -> PodClass:
        counted_as = self._counted_as(pod)
        needs = self._volumes_reader.needs_of(pod) if pod.spec.volumes else NO_NEEDS
        if needs is NO_NEEDS or needs is None:
            return counted_as
        if (counted_as, needs) not in self._with_volumes:
            is_tied = counted_as.is_tied or needs.is_chosen
            made = replace(counted_as, is_tied=is_tied, needs=needs, counted_as=counted_as)
            self._with_volumes[counted_as, needs] = made
        return self._with_volumes[counted_as, needs]

    def _counted_as(self, pod: Pod) -> PodClass:
        meta, rules = pod.metadata, self._reader.rules_of(pod)
        selected_by = self._terms_in_play.selecting(meta.namespace, meta.labels)
        key = id(selected_by), meta.deletion_timestamp is not None, id(rules)  # both are kept for ever
        if key not in self._classes:
            wide = any(term.topology_key != HOSTNAME for term in selected_by)
            is_tied = wide or not rules.topology_keys <= {HOSTNAME}
            made = PodClass(selected_by, key[1], rules, is_tied, is_plain=not selected_by and not rules.terms)
            self._classes[key] = made
            self._on[made] = Counter()
            self._feeds[made] = self._fed_by(made)
        return self._classes[key]

    def _fed_by(self, made: PodClass) -> list[Counts]:
        found: list[Counts] = []
        for term in made.rules.apart:
            found.append(self._standing.setdefault(term, DomainCounts(term.topology_key)))
        for terms, counts in self._terms.items():
            if _all_select(terms, made):
                found += counts
        for spread in self._spreads.values():
            if not made.leaving and self._rule_of[id(spread)].term in made.selected_by:
                found.append(spread)
        return found

    def asked(self, pod: Pod) -> Asked | None:
        """What the pods around a node must be like for this pod to go there.  None: it is all the same."""
        if self.is_idle:
            return None
        of_pod = self.class_of(pod)
        rules, selected_by = of_pod.rules, of_pod.selected_by
        keeping_off = tuple(counts for term, counts in self._standing.items() if term in selected_by)
        if not rules.terms and not keeping_off and not of_pod.needs.is_counted:
            return None
        return Asked(
            keeping_off=keeping_off,
            apart=tuple(self._counts((term,))[0] for term in rules.apart),
            together=self._counts(rules.together) if rules.together else (),
            is_of_its_own=_all_select(rules.together, of_pod),
            spread=tuple(
                (rule, self._spread(pod, rule, rules), rule.term in selected_by) for rule in rules.spread
            ),
            volumes=self._volumes,
            needs=of_pod.needs,
        )

    def _counts(self, terms: tuple[Term, ...]) -> tuple[DomainCounts, ...]:
        """Of the pods that all of these terms select, by the key of each."""
        if terms not in self._terms:
            made = self._terms[terms] = tuple(DomainCounts(term.topology_key) for term in terms)
            for of_pods, on in self._on.items():
                if _all_select(terms, of_pods):
                    self._feeds[of_pods] += made
                    for counts in made:
                        self._count(counts, on)
        return self._terms[terms]

    def _spread(self, pod: Pod, rule: SpreadRule, rules: PodRules) -> SpreadCounts:
        spec = pod.spec
        keys = frozenset(each.term.topology_key for each in rules.spread)
        chosen = (tuple(sorted(spec.node_selector.items())), spec.affinity and spec.affinity.node_affinity)
        nodes = (
            rule.term.topology_key,
            keys,
            chosen if rule.honors_affinity else None,
            spec.tolerations if rule.honors_taints else None,
        )
        key = rule, nodes
        if key not in self._spreads:
            made = self._spreads[key] = SpreadCounts(self._eligible_nodes(nodes, pod, rule, keys))
            self._rule_of[id(made)] = rule
            for of_pods, on in self._on.items():
                if not of_pods.leaving and rule.term in of_pods.selected_by:
                    self._feeds[of_pods].append(made)
                    self._count(made, on)
        return self._spreads[key]

    def _count(self, counts: Counts, on: Counter[str]) -> None:
        for node, count in on.items():
            if count:
                counts.add(node, self._rooms[node].labels, count)

    def _eligible_nodes(
        self, key: tuple[object, ...], pod: Pod, rule: SpreadRule, keys: frozenset[str]
    ) -> Eligible:
        if key not in self._eligible:
            self._eligible[key] = Eligible(rule.term.topology_key), pod, rule, keys
            for room in self._rooms.values():
                self._enter(*self._eligible[key], room)
        return self._eligible[key][0]

    def _enter(
        self, eligible: Eligible, pod: Pod, rule: SpreadRule, keys: frozenset[str], room: Room
    ) -> None:
        """Only nodes with every key count, and of these the ones that the pod's own choice leaves."""
        if not keys <= room.labels.keys():
            return
        if rule.honors_affinity and unselected(pod, room):
            return
        if rule.honors_taints and untolerated(room.taints, pod.spec.tolerations) is not None:
            return
        eligible.add_node(room.name, room.labels)

    def __contains__(self, node: str) -> bool:
        return node in self._rooms

    def add_node(self, room: Room) -> None:
        """A node, with the pods that every node runs."""
        if self.is_idle:
            return
        self._rooms[room.name] = room
        self._volumes.add_node(room.name, room.labels.get(POOL_LABEL, ""))
        for eligible in self._eligible.values():
            self._enter(*eligible, room)
        self._journal.append((room.name, None, 1))
        for pod in room.runs:
            self.put(room.name, self.class_of(pod), 1)

    def put(self, node: str, pods: PodClass, count: int) -> None:
        """So many pods more on this node; fewer, if the number is negative."""
        if pods.is_plain and pods.needs is NO_NEEDS:
            return
        counted_as, labels = pods.counted_as or pods, self._rooms[node].labels
        self._on[counted_as][node] += count
        for counts in self._feeds[counted_as]:
            counts.add(node, labels, count)
        if pods.needs is not NO_NEEDS:
            self._volumes.put(node, labels, pods.needs, count)
        self._journal.append((node, pods, count))

    def is_tied(self, pod: Pod) -> bool:
        """Whether it matters to any rule in which zone the pod is."""
        return not self.is_idle and self.class_of(pod).is_tied

    @contextmanager
    def trial(self) -> Iterator[None]:
        """What is placed and added meanwhile is taken back at the end."""
        mark = len(self._journal)
        try:
            yield
        finally:
            self.undo(mark)

    @property
    def mark(self) -> int:
        return len(self._journal)

    def undo(self, mark: int) -> None:
        """Back to how it was at this mark."""
        while len(self._journal) > mark:
            node, pods, count = self._journal.pop()
            if pods is not None:
                self.put(node, pods, -count)
                self._journal.pop()
                continue
            room = self._rooms.pop(node)
            for eligible, *_ in self._eligible.values():
                eligible.remove_node(node, room.labels)


def _all_select(terms: Iterable[Term], pods: PodClass) -> bool:
    return pods.selected_by.issuperset(terms)
